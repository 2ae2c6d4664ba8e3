//! Texts in, problems and plans out.

use super::*;

fn parsed(text: &str) -> Loaded {
    let source = Source {
        name: "x.toml".to_owned(),
        text: text.to_owned(),
    };
    parse(source, Path::new(""))
}
