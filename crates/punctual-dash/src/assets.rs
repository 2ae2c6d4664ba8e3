//! The page's files, compiled in, under one folder whose name is their content's: they may be cached for ever.
//!
//! Not here: the page itself, which is written for each request (`page.rs`).

/// A file of the page.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($name:literal, $kind:expr) => {
        Asset {
            name: $name,
            kind: $kind,
            text: include_str!(concat!("../assets/", $name)),
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

    /// The page stays small enough to be read, and to be sent over a bad line.
    #[test]
    fn the_script_stays_small() {
        let scripts = ASSETS.iter().filter(|asset| asset.kind == SCRIPT);
        let bytes: usize = scripts.map(|asset| asset.text.len()).sum();
        assert!(bytes < 64 * 1024, "{bytes} bytes of script");
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
