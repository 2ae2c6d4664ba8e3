//! Which file imports which: `use` items and full paths, with re-exports followed to the module that defines the name.
//! A glob counts as an import of the module it opens.

use crate::Measure;
use crate::source::Source;
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

/// More re-exports than this in a row are taken for a circle.
const MAX_HOPS: usize = 16;

/// The crate's name, modules, and perhaps a name in the last of them.
type FullPath = Vec<String>;

/// The modules of the core, and the names that `use` items bring into them.
#[derive(Default)]
pub(crate) struct Modules {
    /// A module inside a file has that file's index.
    files: HashMap<FullPath, usize>,
    used: HashMap<FullPath, FullPath>,
    /// By file: the files that it imports.
    imports: Vec<BTreeSet<usize>>,
}

impl Modules {
    pub(crate) fn of(sources: &[Source]) -> Self {
        let mut modules = Modules::default();
        for (file, source) in sources.iter().enumerate() {
            modules.add(file, source.module.clone(), &source.tree.items);
        }
        let mut mentioned = Vec::new();
        for source in sources {
            let (module, found) = (source.module.clone(), Vec::new());
            let mut paths = Paths {
                modules: &mut modules,
                module,
                found,
            };
            paths.visit_file(&source.tree);
            mentioned.push(paths.found);
        }
        for (file, paths) in mentioned.iter().enumerate() {
            let mut targets: BTreeSet<usize> =
                paths.iter().filter_map(|path| modules.resolve(path)).collect();
            targets.remove(&file);
            modules.imports.push(targets);
        }
        modules
    }

    fn add(&mut self, file: usize, module: FullPath, items: &[Item]) {
        for item in items {
            if let Item::Mod(item) = item
                && let Some((_, items)) = &item.content
            {
                self.add(file, joined(&module, &[item.ident.to_string()]), items);
            }
        }
        self.files.insert(module, file);
    }

    /// The full path of what is written in a module; none for foreign crates.
    fn full(&self, module: &[String], written: &[String]) -> Option<FullPath> {
        let (first, rest) = written.split_first()?;
        match first.as_str() {
            "crate" => Some(joined(&module[..1], rest)),
            "super" | "self" => {
                let supers = written.iter().take_while(|part| *part == "super").count();
                let here = &module[..module.len().checked_sub(supers)?];
                Some(joined(here, &written[supers.max(1)..]))
            }
            _ if self.files.contains_key(&joined(module, &written[..1])) => Some(joined(module, written)),
            _ => self.files.contains_key(&written[..1]).then(|| written.to_vec()),
        }
    }

    /// The file that defines what a full path names.
    pub(crate) fn resolve(&self, path: &[String]) -> Option<usize> {
        let mut path = path.to_vec();
        for _ in 0..MAX_HOPS {
            let modules = (1..=path.len()).take_while(|end| self.files.contains_key(&path[..*end]));
            let end = modules.last()?;
            match path.get(..=end).and_then(|name| self.used.get(name)) {
                Some(target) => path = joined(target, &path[end + 1..]),
                None => return self.files.get(&path[..end]).copied(),
            }
        }
        None
    }

    /// How many modules a file imports, and which folders import each other.
    pub(crate) fn measures(&self, sources: &[Source]) -> Vec<Measure> {
        let total: usize = self.imports.iter().map(BTreeSet::len).sum();
        let mean = total as f64 / sources.len().max(1) as f64;
        let mut files: Vec<(usize, String)> = Vec::new();
        let mut edges = BTreeMap::<(String, String), Vec<&str>>::new();
        for (source, targets) in sources.iter().zip(&self.imports) {
            let names: Vec<String> = targets
                .iter()
                .map(|file| sources[*file].module.join("::"))
                .collect();
            files.push((
                targets.len(),
                format!("{}: {}: {}", source.path, targets.len(), names.join(", ")),
            ));
            let folders: BTreeSet<String> = targets.iter().map(|file| folder(&sources[*file])).collect();
            for target in folders.into_iter().filter(|target| *target != folder(source)) {
                edges
                    .entry((folder(source), target))
                    .or_default()
                    .push(&source.path);
            }
        }
        files.sort_by(|a, b| b.cmp(a));
        let cycles = cycles(edges.keys().cloned().collect());
        let mut places: Vec<String> = cycles
            .iter()
            .map(|cycle| format!("cycle: {}", cycle.join(", ")))
            .collect();
        for ((from, to), files) in &edges {
            if cycles
                .iter()
                .any(|cycle| cycle.contains(from) && cycle.contains(to))
            {
                places.push(format!("{from} -> {to}: {}", files.join(", ")));
            }
        }
        let mean = (mean * 10.0).round() / 10.0;
        let in_cycles = cycles.iter().map(Vec::len).sum::<usize>() as f64;
        let files = files.into_iter().map(|(_, line)| line).collect();
        vec![
            Measure::new("imports-mean", "modules a file imports, mean", mean, files),
            Measure::new("cycle-folders", "folders in an import cycle", in_cycles, places),
        ]
    }
}

fn joined(head: &[String], tail: &[String]) -> FullPath {
    [head, tail].concat()
}

/// The crate and the top module of a file. A leaf crate is one folder.
fn folder(source: &Source) -> String {
    let parts = if source.module[0] == "punctual" { 2 } else { 1 };
    source.module[..source.module.len().min(parts)].join("::")
}

/// The groups of nodes that reach each other, each sorted; a node alone is none.
fn cycles(mut reach: BTreeSet<(String, String)>) -> Vec<Vec<String>> {
    let mut size = 0;
    while size < reach.len() {
        size = reach.len();
        for (from, middle) in reach.clone() {
            let onwards: Vec<_> = reach.iter().filter(|edge| edge.0 == middle).cloned().collect();
            reach.extend(onwards.into_iter().map(|(_, to)| (from.clone(), to)));
        }
    }
    let mut groups = BTreeMap::<&String, BTreeSet<&String>>::new();
    for (from, to) in &reach {
        if reach.contains(&(to.clone(), from.clone())) {
            groups.entry(from).or_default().insert(to);
        }
    }
    let groups: BTreeSet<_> = groups.into_values().collect();
    groups
        .into_iter()
        .map(|group| group.into_iter().cloned().collect())
        .collect()
}

/// Collects the internal paths of one file, and notes what its `use` items bring into its modules.
struct Paths<'m> {
    modules: &'m mut Modules,
    module: FullPath,
    found: Vec<FullPath>,
}

impl Paths<'_> {
    fn unfold(&mut self, prefix: &[String], tree: &UseTree) {
        let (name, new_name) = match tree {
            UseTree::Path(path) => {
                return self.unfold(&joined(prefix, &[path.ident.to_string()]), &path.tree);
            }
            UseTree::Group(group) => return group.items.iter().for_each(|tree| self.unfold(prefix, tree)),
            UseTree::Glob(_) => return self.found.extend(self.modules.full(&self.module, prefix)),
            UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
            UseTree::Rename(name) => (name.ident.to_string(), name.rename.to_string()),
        };
        // `use a::{self}` brings `a`.
        let is_self = name == "self" && !prefix.is_empty();
        let written = if is_self {
            prefix.to_vec()
        } else {
            joined(prefix, &[name])
        };
        let new_name = if new_name == "self" {
            written[written.len() - 1..].to_vec()
        } else {
            vec![new_name]
        };
        if let Some(target) = self.modules.full(&self.module, &written) {
            let named = joined(&self.module, &new_name);
            if named != target {
                self.modules.used.insert(named, target.clone());
            }
            self.found.push(target);
        }
    }

    /// A path in the code. One that begins with another name goes through a `use`, which is counted already.
    fn mention(&mut self, path: &[String]) {
        if path.len() > 1 && ["crate", "super"].contains(&path[0].as_str()) {
            self.found.extend(self.modules.full(&self.module, path));
        }
    }

    /// The paths in the arguments of a macro, which are only tokens.
    fn scan(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.mention(&std::mem::take(&mut path));
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.scan(group.stream());
                    colons = 0;
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => colons = 0,
            }
        }
        self.mention(&path);
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.unfold(&[], &item.tree);
    }
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.mention(&parts);
        visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.scan(item.tokens.clone());
    }
    /// `pub(in crate::a)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imports(files: &[(&str, &str)]) -> Vec<Vec<usize>> {
        let mut sources = Vec::new();
        for (module, text) in files {
            let module = module.split("::").map(str::to_owned).collect();
            sources.push(Source::parse("a.rs".into(), module, false, text).expect("it parses"));
        }
        let modules = Modules::of(&sources);
        modules.imports.into_iter().map(Vec::from_iter).collect()
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_name() {
        let files = [
            ("p", "mod a; mod b; pub use a::Thing;"),
            ("p::a", "mod inner; pub(crate) use inner::Deep as Thing;"),
            ("p::a::inner", "pub struct Deep;"),
            ("p::b", "use crate::Thing; use std::fmt; pub(super) struct B;"),
        ];
        assert_eq!(imports(&files), [vec![2], vec![2], vec![], vec![2]]);
    }

    #[test]
    fn relative_and_full_paths_count_also_inside_of_macros() {
        let files = [
            ("p", "mod a; mod b; mod c;"),
            (
                "p::a",
                "use super::b::{self, X}; mod inner { use super::super::b::Y; }",
            ),
            ("p::b", "pub fn g() { assert!(x: f(crate::c::h(), y)) }"),
            ("p::c", "fn h() { super::a::i() }"),
        ];
        assert_eq!(imports(&files), [vec![], vec![2], vec![3], vec![1]]);
    }

    #[test]
    fn cycles_are_found_and_chains_are_none() {
        let edge = |text: &str| (text[..1].to_owned(), text[1..].to_owned());
        let cycles = |text: &str| cycles(text.split(' ').map(edge).collect());
        assert!(cycles("ab bc ac cd").is_empty());
        assert_eq!(cycles("ab bc ca cd de ed"), [vec!["a", "b", "c"], vec!["d", "e"]]);
    }
}
