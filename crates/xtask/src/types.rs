//! The types of the core: names that are defined more than once, and how much is attached to one type.

use crate::Measure;
use crate::imports::Modules;
use crate::source::{self, Source};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Type};

/// The struct that everything is attached to.
const CENTRAL: &str = "Engine";

/// Public types that have as many methods as the API needs.
const FACADES: [&str; 4] = ["Executor", "Pool", "PoolBuilder", "Schedule"];

struct Definition {
    name: String,
    /// The index of its source.
    file: usize,
    fields: usize,
    /// Compiled for some targets only: its twin for the others has the same name.
    is_conditional: bool,
    /// Of all its `impl` blocks, by file.
    methods: BTreeMap<usize, usize>,
}

#[derive(Default)]
struct Types {
    file: usize,
    is_conditional: bool,
    definitions: Vec<Definition>,
    /// Type, file, methods.
    impls: Vec<(String, usize, usize)>,
}

impl Types {
    /// The types of all files, with what is attached to each.
    fn of(sources: &[Source], modules: &Modules) -> Self {
        let mut types = Types::default();
        for (file, source) in sources.iter().enumerate() {
            (types.file, types.is_conditional) = (file, source.is_conditional);
            types.visit_file(&source.tree);
        }
        for (name, file, methods) in std::mem::take(&mut types.impls) {
            let imported =
                modules.resolve(&[sources[file].module.as_slice(), std::slice::from_ref(&name)].concat());
            let named = types
                .definitions
                .iter_mut()
                .filter(|definition| definition.name == name);
            // The one in this file, the one that the file imports, or the only one.
            let nearness = |of: &&mut Definition| (of.file != file, Some(of.file) != imported);
            if let Some(definition) = named.min_by_key(nearness) {
                *definition.methods.entry(file).or_default() += methods;
            }
        }
        types
    }

    fn define(&mut self, name: &Ident, attributes: &[Attribute], fields: usize) {
        let is_conditional = self.is_conditional || source::is_conditional(attributes);
        let (name, file, methods) = (name.to_string(), self.file, BTreeMap::new());
        self.definitions.push(Definition {
            name,
            file,
            fields,
            is_conditional,
            methods,
        });
    }

    /// Names with more than one definition; twins for several targets are one.
    fn duplicates(&self, sources: &[Source]) -> Vec<String> {
        let mut by_name = BTreeMap::<&str, Vec<&Definition>>::new();
        for definition in &self.definitions {
            by_name.entry(&definition.name).or_default().push(definition);
        }
        let mut found = Vec::new();
        for (name, definitions) in by_name {
            let twins = definitions
                .iter()
                .filter(|definition| definition.is_conditional)
                .count();
            if definitions.len() - twins + twins.min(1) > 1 {
                let files: BTreeSet<&str> = definitions
                    .iter()
                    .map(|of| sources[of.file].path.as_str())
                    .collect();
                found.push(format!("{name}: {}", Vec::from_iter(files).join(", ")));
            }
        }
        found
    }
}

impl<'ast> Visit<'ast> for Types {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let outside = self.is_conditional;
        self.is_conditional |= source::is_conditional(&item.attrs);
        visit::visit_item_mod(self, item);
        self.is_conditional = outside;
    }
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.define(&item.ident, &item.attrs, item.fields.len());
    }
    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.define(&item.ident, &item.attrs, 0);
    }
    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.define(&item.ident, &item.attrs, 0);
    }
    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.define(&item.ident, &item.attrs, 0);
        visit::visit_item_trait(self, item);
    }
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let of = match &*item.self_ty {
            Type::Reference(reference) => &*reference.elem,
            of => of,
        };
        if let Type::Path(path) = of
            && let Some(last) = path.path.segments.last()
        {
            let is_method = |item: &&syn::ImplItem| matches!(item, syn::ImplItem::Fn(_));
            let methods = item.items.iter().filter(is_method).count();
            self.impls.push((last.ident.to_string(), self.file, methods));
        }
        visit::visit_item_impl(self, item);
    }
}

/// The most of something that one of the types has, and the forty types that have the most.
fn most(types: &[&Definition], sources: &[Source], size: fn(&Definition) -> usize) -> (f64, Vec<String>) {
    let mut sorted = types.to_vec();
    sorted.sort_by_key(|of| Reverse(size(of)));
    let line = |of: &&Definition| format!("{} ({}): {}", of.name, sources[of.file].path, size(of));
    let places = sorted.iter().take(40).map(line).collect();
    (sorted.first().map_or(0, |of| size(of)) as f64, places)
}

/// All measures of types.
pub(crate) fn measures(sources: &[Source], modules: &Modules) -> Vec<Measure> {
    let types = Types::of(sources, modules);
    let is_facade = |of: &&Definition| FACADES.contains(&of.name.as_str());
    let (facades, internal): (Vec<_>, Vec<_>) = types.definitions.iter().partition(is_facade);
    let central: Vec<&Definition> = internal.iter().copied().filter(|of| of.name == CENTRAL).collect();
    let fields: fn(&Definition) -> usize = |of| of.fields;
    let methods: fn(&Definition) -> usize = |of| of.methods.values().sum();
    let files: fn(&Definition) -> usize = |of| of.methods.len();
    let mut measures = Vec::new();
    for (name, title, group, size) in [
        ("engine-fields", "central struct: fields", &central, fields),
        ("engine-methods", "central struct: methods", &central, methods),
        (
            "engine-files",
            "central struct: files with an impl",
            &central,
            files,
        ),
        ("type-methods", "internal type: methods, most", &internal, methods),
        (
            "type-files",
            "internal type: files with an impl, most",
            &internal,
            files,
        ),
        (
            "facade-files",
            "public facade: files with an impl, most",
            &facades,
            files,
        ),
    ] {
        let (figure, mut places) = most(group, sources, size);
        if name == "engine-methods" || name == "engine-files" {
            let by_file = central.iter().flat_map(|of| &of.methods);
            places
                .extend(by_file.map(|(file, methods)| format!("{}: {methods} methods", sources[*file].path)));
        }
        measures.push(Measure::new(name, title, figure, places));
    }
    let duplicates = types.duplicates(sources);
    measures.push(Measure::count(
        "duplicate-types",
        "type names defined more than once",
        duplicates,
    ));
    measures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(texts: &[&str]) -> Vec<Source> {
        let mut sources = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let name = if index == 0 {
                "p".to_owned()
            } else {
                format!("p::m{index}")
            };
            let module = name.split("::").map(str::to_owned).collect();
            let source = Source::parse(format!("m{index}.rs"), module, false, text);
            sources.push(source.expect("it parses"));
        }
        sources
    }

    #[test]
    fn a_name_in_two_files_is_a_duplicate_and_twins_are_not() {
        let twins =
            "#[cfg(unix)]\nstruct B;\n#[cfg(not(unix))]\nmod other { struct B; }\n#[cfg(test)]\nstruct A;\n";
        let sources = sources(&["struct A; enum C {}", twins, "fn f() { struct C; }"]);
        let types = Types::of(&sources, &Modules::of(&sources));
        assert_eq!(types.duplicates(&sources), ["C: m0.rs, m2.rs"]);
    }

    #[test]
    fn methods_belong_to_the_type_that_the_file_means() {
        let sources = sources(&[
            "mod m1; mod m2; mod m3;",
            "struct Engine; impl Engine { fn e() {} }",
            "pub struct Engine { a: u8 } impl Engine { fn b(&self) {} fn c() {} }",
            "use super::m2::Engine; impl Engine { fn d() {} } impl Drop for &Engine { fn drop(&mut self) {} }",
        ]);
        let measures = measures(&sources, &Modules::of(&sources));
        let figures: Vec<Option<f64>> = measures.iter().map(|measure| measure.figure).collect();
        assert_eq!(figures[..3], [Some(1.0), Some(4.0), Some(2.0)]);
    }
}
