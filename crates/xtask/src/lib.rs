//! Measures of the workspace's structure, and the ratchet that holds them.
//!
//! In: the sources and documents of the workspace, as text and as syntax trees. Out: a [`Measure`] for each figure, with
//! the places behind it; [`Baseline`] compares them with the committed figures of `house.toml`. Nothing here is part of
//! the product.

mod imports;
mod ratchet;
mod size;
mod source;
mod traces;
mod types;
mod words;

pub use ratchet::Baseline;
pub use source::Result;
use std::path::{Path, PathBuf};
pub use traces::trace;

/// A figure about the workspace.
#[derive(Debug)]
pub struct Measure {
    /// As in `house.toml`, and after `--list`.
    pub name: &'static str,
    /// As in the table.
    pub title: &'static str,
    /// None if it was not measured in this run.
    pub figure: Option<f64>,
    /// What adds up to the figure, or explains it.
    pub places: Vec<String>,
}

impl Measure {
    fn new(name: &'static str, title: &'static str, figure: f64, places: Vec<String>) -> Self {
        Measure {
            name,
            title,
            figure: Some(figure),
            places,
        }
    }

    /// As many as there are places.
    fn count(name: &'static str, title: &'static str, places: Vec<String>) -> Self {
        Self::new(name, title, places.len() as f64, places)
    }
}

/// The workspace's root.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// All measures; those that need a build have no figure yet, see [`trace`].
pub fn house(root: &Path) -> Result<Vec<Measure>> {
    let sources = source::core(root)?;
    let modules = imports::Modules::of(&sources);
    let mut measures = size::core(&sources);
    measures.extend(types::measures(&sources, &modules));
    measures.extend(words::questions(&sources));
    measures.extend(modules.measures(&sources));
    measures.extend(size::workspace(root)?);
    measures.extend(words::documents(root)?);
    measures.extend(traces::unmeasured());
    Ok(measures)
}
