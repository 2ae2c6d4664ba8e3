//! Sizes and counts: code lines, locks, unsafe files, long files and functions.

use crate::Measure;
use crate::source::{self, Result, Source};
use std::path::Path;
use syn::Type;
use syn::visit::{self, Visit};

/// Types that are a lock.
const LOCKS: [&str; 4] = ["LeaningLock", "Lock", "Mutex", "RwLock"];

/// The longest file, and the longest function from its signature to its last brace, that pass.
const MAX_FILE: usize = 500;
const MAX_FUNCTION: usize = 80;

/// The measures of the library core.
pub(crate) fn core(sources: &[Source]) -> Vec<Measure> {
    let mut lines: Vec<(usize, &str)> = sources
        .iter()
        .map(|source| (source.code_lines, source.path.as_str()))
        .collect();
    lines.sort_by(|a, b| b.cmp(a));
    let total: usize = lines.iter().map(|(lines, _)| lines).sum();
    let lines = lines
        .iter()
        .map(|(lines, path)| format!("{path}: {lines}"))
        .collect();
    let with_unsafe = sources.iter().filter(|source| source.words.contains("unsafe"));
    let locks = sources.iter().flat_map(locks).collect();
    vec![
        Measure::new("code-lines", "code lines of the core", total as f64, lines),
        Measure::count("locks", "locks (fields and statics)", locks),
        Measure::count(
            "unsafe-files",
            "files with unsafe code",
            with_unsafe.map(|source| source.path.clone()).collect(),
        ),
    ]
}

/// Fields and statics that own a lock, as `file:line`.
fn locks(source: &Source) -> Vec<String> {
    let mut found = Locks::default();
    found.visit_file(&source.tree);
    found
        .lines
        .iter()
        .map(|line| format!("{}:{line}", source.path))
        .collect()
}

#[derive(Default)]
struct Locks {
    lines: Vec<usize>,
    is_in_type: bool,
    has_lock: bool,
}

impl Locks {
    fn look(&mut self, line: usize, of: &Type) {
        (self.is_in_type, self.has_lock) = (true, false);
        self.visit_type(of);
        self.is_in_type = false;
        if self.has_lock {
            self.lines.push(line);
        }
    }
}

impl<'ast> Visit<'ast> for Locks {
    fn visit_field(&mut self, field: &'ast syn::Field) {
        self.look(syn::spanned::Spanned::span(&field.ty).start().line, &field.ty);
    }
    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.look(item.ident.span().start().line, &item.ty);
    }
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.has_lock |= self.is_in_type && LOCKS.iter().any(|lock| segment.ident == lock);
        visit::visit_path_segment(self, segment);
    }
    /// A borrowed lock is owned elsewhere.
    fn visit_type_reference(&mut self, _: &'ast syn::TypeReference) {}
}

/// Long files and functions of the whole workspace, tests included.
pub(crate) fn workspace(root: &Path) -> Result<Vec<Measure>> {
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for folder in ["crates", "examples", "fuzz"] {
        for path in source::files_below(&root.join(folder), &["rs"])? {
            let text = source::read(&path)?;
            let path = source::relative(root, &path);
            let lines = text.lines().count();
            if lines > MAX_FILE {
                files.push(format!("{path}: {lines} lines"));
            }
            if lines > MAX_FUNCTION {
                functions.extend(long_functions(&path, &text)?);
            }
        }
    }
    Ok(vec![
        Measure::count("long-files", "files over 500 lines", files),
        Measure::count("long-functions", "functions over 80 lines", functions),
    ])
}

fn long_functions(path: &str, text: &str) -> Result<Vec<String>> {
    let mut functions = Functions { found: Vec::new() };
    functions.visit_file(&source::parse(path, text)?);
    let line = |(line, name, lines): &(usize, String, usize)| format!("{path}:{line}: {name}: {lines} lines");
    Ok(functions.found.iter().map(line).collect())
}

struct Functions {
    found: Vec<(usize, String, usize)>,
}

impl Functions {
    fn look(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let begin = signature.fn_token.span.start().line;
        let lines = body.brace_token.span.close().end().line - begin + 1;
        if lines > MAX_FUNCTION {
            self.found.push((begin, signature.ident.to_string(), lines));
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }
    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.look(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.look(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_locks_count_and_borrowed_ones_do_not() {
        let text = "static A: [Lock<u8>; 2] = x();\nstruct B<'a> {\n    b: Padded<Mutex<u8>>,\n    c: &'a Lock<u8>,\n}\n\
            enum C {\n    D(Arc<Lock<u8>>),\n}\nfn f(lock: Lock<u8>) {}\n";
        let source = Source::parse("a.rs".into(), vec!["p".into()], false, text).expect("it parses");
        assert_eq!(locks(&source), ["a.rs:1", "a.rs:3", "a.rs:7"]);
    }

    #[test]
    fn a_function_is_measured_from_its_signature_to_its_brace() {
        let body = "    x();\n".repeat(79);
        let text = format!(
            "/// Doc.\nfn short() {{\n{}}}\nfn long() {{\n{body}}}\n",
            "    x();\n".repeat(78)
        );
        assert_eq!(
            long_functions("a.rs", &text),
            Ok(vec!["a.rs:82: long: 81 lines".to_owned()])
        );
    }
}
