//! The page's files, compiled in, under one folder whose name is their content's: they may be cached for ever. To whoever
//! understands it, which all browsers do, they are sent compressed, scripts without what is only for readers; that is made once, when
//! one of them is first asked for.
//!
//! Not here: the page itself, which is written for each request (`page.rs`).

use axum::body::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::borrow::Cow;
use std::io::Write;
use std::sync::OnceLock;

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
    packed: OnceLock<Bytes>,
}

impl Asset {
    /// The text, without what is only for readers, compressed with gzip.
    pub(crate) fn packed(&self) -> Bytes {
        let pack = || {
            let mut pack = GzEncoder::new(Vec::new(), Compression::best());
            // Nothing can go wrong in memory; what is missing then is noticed by whoever reads it.
            let _ = pack.write_all(self.bare().as_bytes());
            pack.finish().unwrap_or_default().into()
        };
        self.packed.get_or_init(pack).clone()
    }

    fn bare(&self) -> Cow<'static, str> {
        if self.kind == SCRIPT {
            bare(self.text).into()
        } else {
            self.text.into()
        }
    }
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("../assets/", $name)),
            packed: OnceLock::new(),
        }
    };
}

/// All of them. `app.js` imports the others by their relative names, so they share a folder.
pub(crate) static ASSETS: [Asset; 8] = [
    asset!("app.js", SCRIPT),
    asset!("charts.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("dump.js", SCRIPT),
    asset!("pages.js", SCRIPT),
    asset!("pool.js", SCRIPT),
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("mark.svg", "image/svg+xml"),
];

/// A script without indentation, empty lines, and comments that have lines of their own. No text of ours goes over several lines: a
/// test holds that.
fn bare(script: &str) -> String {
    let mut kept = String::with_capacity(script.len());
    let mut is_comment = false;
    for line in script.lines().map(str::trim) {
        is_comment |= line.starts_with("/*");
        if !is_comment && !line.is_empty() && !line.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
        is_comment &= !line.ends_with("*/");
    }
    kept
}

/// The folder's name. It changes when a byte of any file does.
pub(crate) fn version() -> String {
    let texts: Vec<&str> = ASSETS.iter().flat_map(|asset| [asset.name, asset.text]).collect();
    format!("{:016x}", fingerprint(&texts))
}

pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}

/// FNV-1a over the pieces and their lengths. It tells versions apart; it keeps no secret.
pub(crate) fn fingerprint(pieces: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    for piece in pieces {
        piece.bytes().for_each(&mut take);
        piece.len().to_le_bytes().into_iter().for_each(&mut take);
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_changes_the_name() {
        assert_ne!(fingerprint(&["ab", "c"]), fingerprint(&["a", "bc"]));
        assert_ne!(fingerprint(&["ab"]), fingerprint(&["ac"]));
        assert_eq!(version().len(), 16);
    }

    /// Small enough to be read, and to be sent over a bad line: what every page loads, what one of a pool loads beside it, and what
    /// a dump needs on top.
    #[test]
    fn the_script_stays_small() {
        let sent =
            |names: &[&str]| -> usize { names.iter().map(|name| find(name).unwrap().packed().len()).sum() };
        let first = sent(&["app.js", "dom.js", "pages.js"]);
        assert!(first < 10 * 1024, "{first} bytes for a page");
        let pool = sent(&["charts.js", "pool.js"]);
        assert!(
            first + pool < 20 * 1024,
            "{} bytes for that of a pool",
            first + pool
        );
        let dump = sent(&["dump.js"]);
        assert!(dump < 3 * 1024, "{dump} more bytes for a dump");
        let scripts = ASSETS.iter().filter(|asset| asset.kind == SCRIPT);
        assert_eq!(scripts.count(), 6, "all of them are above");
    }

    #[test]
    fn only_what_is_for_readers_is_left_out() {
        let script =
            "// a\n/** b\n * c */\nlet d = 1; // e\n\n  /* f */\n  if (d) {\n    g(`/* h */`);\n  }\n";
        assert_eq!(bare(script), "let d = 1; // e\nif (d) {\ng(`/* h */`);\n}\n");
        for asset in ASSETS.iter().filter(|asset| asset.kind == SCRIPT) {
            for line in asset.text.lines() {
                assert_eq!(line.matches('`').count() % 2, 0, "{}: {line}", asset.name);
            }
        }
    }

    #[test]
    fn what_is_packed_is_the_text() {
        for asset in &ASSETS {
            let mut text = String::new();
            let packed = asset.packed();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut text).unwrap();
            assert_eq!(text, asset.bare(), "{}", asset.name);
        }
    }

    /// What the content security policy would refuse, and what would let a name become markup.
    #[test]
    fn no_markup_is_made_of_text() {
        for asset in ASSETS.iter().filter(|asset| asset.kind == SCRIPT) {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
            ] {
                assert!(!asset.text.contains(word), "{} has {word}", asset.name);
            }
        }
    }
}
