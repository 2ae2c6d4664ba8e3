//! Source files as syntax trees, without the code that a plain build leaves out.
//!
//! [`core()`] follows the `mod` items of the library crates from their roots, so a file is read exactly when it is compiled.
//! Code under a `cfg` that is false in a plain build (tests, loom, shuttle, doctest, fuzzing) is blanked out before the
//! text is parsed; a `cfg` on the target stays, with both of its twins. The sources are formatted, so such code ends on
//! the indentation on which its `cfg` stands.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

/// What was asked for, or a text that names the file and the cause.
pub type Result<T> = std::result::Result<T, String>;

/// The crates of the library core; those that do not exist yet are passed over.
pub(crate) const CORE: [&str; 4] = ["punctual-sync", "punctual-timer", "punctual-cron", "punctual"];

/// A source file of the library core.
pub(crate) struct Source {
    /// From the workspace's root.
    pub(crate) path: String,
    /// The crate's name, then its modules.
    pub(crate) module: Vec<String>,
    /// Whether the file is compiled for some targets only.
    pub(crate) is_conditional: bool,
    pub(crate) tree: syn::File,
    /// Identifiers and keywords.
    pub(crate) words: BTreeSet<String>,
    /// Lines that carry code: no comment, no documentation, not blank.
    pub(crate) code_lines: usize,
}

/// Reads a file; the error names it.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The files below a folder with one of these extensions, sorted. Build folders and hidden ones are passed over.
pub(crate) fn files_below(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let failed = |error| format!("{}: {error}", folder.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() {
            // Also `target-loom` and the like.
            if !name.starts_with('.') && !name.starts_with("target") {
                found.extend(files_below(&path, extensions)?);
            }
        } else if extensions.iter().any(|end| extension == *end) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A path as it is printed: from the root, with slashes.
pub(crate) fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// Every file of the library core.
pub(crate) fn core(root: &Path) -> Result<Vec<Source>> {
    let mut found = Vec::new();
    for name in CORE {
        let file = root.join("crates").join(name).join("src/lib.rs");
        if file.exists() {
            follow(root, &file, vec![name.replace('-', "_")], false, &mut found)?;
        }
    }
    Ok(found)
}

/// Reads a file and those of its modules.
fn follow(
    root: &Path,
    file: &Path,
    module: Vec<String>,
    is_conditional: bool,
    found: &mut Vec<Source>,
) -> Result<()> {
    let source = Source::parse(relative(root, file), module.clone(), is_conditional, &read(file)?)?;
    let has_folder = file.ends_with("lib.rs") || file.ends_with("mod.rs");
    let folder = if has_folder {
        file.with_file_name("")
    } else {
        file.with_extension("")
    };
    let items = source.tree.items.clone();
    found.push(source);
    for item in &items {
        if let Item::Mod(child) = item
            && child.content.is_none()
        {
            let name = child.ident.to_string();
            let beside = folder.join(format!("{name}.rs"));
            let file = if beside.exists() {
                beside
            } else {
                folder.join(&name).join("mod.rs")
            };
            let is_conditional = is_conditional || self::is_conditional(&child.attrs);
            follow(
                root,
                &file,
                [module.as_slice(), &[name]].concat(),
                is_conditional,
                found,
            )?;
        }
    }
    Ok(())
}

impl Source {
    pub(crate) fn parse(path: String, module: Vec<String>, is_conditional: bool, text: &str) -> Result<Self> {
        let text = without_false_cfgs(text);
        let tree = parse(&path, &text)?;
        let tokens = text.parse().map_err(|error| format!("{path}: {error}"))?;
        let (mut lines, mut words) = (BTreeSet::new(), BTreeSet::new());
        walk(tokens, &mut lines, &mut words);
        Ok(Source {
            path,
            module,
            is_conditional,
            tree,
            words,
            code_lines: lines.len(),
        })
    }
}

/// The syntax tree of a file.
pub(crate) fn parse(path: &str, text: &str) -> Result<syn::File> {
    syn::parse_file(text).map_err(|error| format!("{path}:{}: {error}", error.span().start().line))
}

/// The lines with code, and the words on them.
fn walk(tokens: TokenStream, lines: &mut BTreeSet<usize>, words: &mut BTreeSet<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let (first, last) = (token.span().start().line, token.span().end().line);
        match token {
            TokenTree::Punct(mark) if mark.as_char() == '#' => {
                tokens.next_if(|next| next.to_string() == "!");
                // Documentation is an attribute by now.
                if tokens
                    .next_if(|next| next.to_string().starts_with("[doc "))
                    .is_none()
                {
                    lines.insert(first);
                }
            }
            TokenTree::Group(group) => {
                lines.extend([first, last]);
                walk(group.stream(), lines, words);
            }
            token => {
                lines.extend(first..=last);
                if let TokenTree::Ident(word) = token {
                    words.insert(word.to_string());
                }
            }
        }
    }
}

/// The text with blank lines in place of what a plain build leaves out.
fn without_false_cfgs(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_attached = |line: &str| {
        ["#[", "//"]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    };
    for index in 0..lines.len() {
        if !is_false_cfg(lines[index]) {
            continue;
        }
        let depth = indent(lines[index]);
        let ends =
            |line: &str| indent(line) == depth && !is_attached(line) && line.ends_with([';', '}', ',']);
        let is_outside = |line: &&str| !line.is_empty() && indent(line) < depth;
        let begin = (0..index).rev().find(|above| !is_attached(lines[*above]));
        let end = (index + 1..lines.len())
            .find(|below| ends(lines[*below]) || lines.get(below + 1).is_some_and(is_outside));
        lines[begin.map_or(0, |above| above + 1)..=end.unwrap_or(index)].fill("");
    }
    lines.join("\n")
}

fn is_false_cfg(line: &str) -> bool {
    let inner = line
        .trim_start()
        .strip_prefix("#[cfg(")
        .and_then(|rest| rest.strip_suffix(")]"));
    let meta = inner.and_then(|text| syn::parse_str(text).ok());
    meta.and_then(|meta| holds(&meta)) == Some(false)
}

/// Whether a `cfg` holds in a plain build with all features; none if the target decides.
fn holds(meta: &Meta) -> Option<bool> {
    match meta {
        Meta::Path(path) => {
            let never = ["test", "loom", "shuttle", "doctest", "fuzzing", "miri"];
            never.iter().any(|name| path.is_ident(name)).then_some(false)
        }
        Meta::NameValue(value) => value.path.is_ident("feature").then_some(true),
        Meta::List(list) => {
            let parts = list
                .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
                .ok()?;
            let parts: Vec<Option<bool>> = parts.iter().map(holds).collect();
            if list.path.is_ident("not") {
                return parts.first()?.map(|is_so| !is_so);
            }
            let is_any = list.path.is_ident("any");
            let is_known = !parts.contains(&None);
            if parts.contains(&Some(is_any)) {
                Some(is_any)
            } else {
                is_known.then_some(!is_any)
            }
        }
    }
}

/// Whether the target decides about an item.
pub(crate) fn is_conditional(attributes: &[Attribute]) -> bool {
    let mut cfgs = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"));
    cfgs.any(|cfg| cfg.parse_args().is_ok_and(|meta| holds(&meta).is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::parse("a.rs".into(), vec!["a".into()], false, text).expect("it parses")
    }

    #[test]
    fn lines_of_tests_models_and_documentation_do_not_count() {
        let text = "//! Head.\n\n/// What.\nstruct A {\n    // why\n    a: u8,\n}\n\
            #[cfg(all(test, not(loom)))]\nmod tests {\n\n    fn b() {}\n}\n#[cfg(any(loom, shuttle))]\nfn c(\n    d: D,\n) {}\n";
        assert_eq!(source(text).code_lines, 3);
        assert!(!source(text).words.contains("b") && !source(text).words.contains("d"));
    }

    #[test]
    fn statements_under_a_false_cfg_are_cut() {
        let text = "fn f() {\n    #[cfg(loom)]\n    {\n        a();\n    }\n    #[cfg(not(loom))]\n    b();\n    #[cfg(loom)]\n    c()\n}\n";
        assert_eq!(source(text).code_lines, 4);
    }

    #[test]
    fn features_hold_and_targets_stay_open() {
        let answer = |text: &str| holds(&syn::parse_str(text).expect("a cfg"));
        assert_eq!(answer("feature = \"cron\""), Some(true));
        assert_eq!(answer("all(unix, not(any(loom, shuttle)))"), None);
        assert_eq!(answer("all(unix, test)"), Some(false));
        assert_eq!(answer("not(all(test, unix))"), Some(true));
    }
}
