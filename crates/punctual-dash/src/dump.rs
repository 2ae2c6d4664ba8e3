//! A dump as it comes from a file: checked before it is shown.
//!
//! In: a text. Out: whether it is a dump of a version that the page knows; nothing of it is kept but the text. The page reads it
//! itself (`assets/dump.js`).

use crate::DashError;
use serde::Deserialize;
use serde_json::error::Category;

/// More than any recorder writes: a file of this size is something else.
const LARGEST: usize = 64 * 1024 * 1024;

/// The version that the page reads.
const KNOWN: u32 = 1;

#[derive(Deserialize)]
struct Version {
    punctual_dump: u32,
}

pub(crate) fn check(json: &str) -> Result<(), DashError> {
    let help = "give the text of Control::dump().to_json(), or the file that the page's Dump button saves";
    let shown = format!("({} bytes)", json.len());
    if json.len() > LARGEST {
        return Err(DashError::new(
            "dump",
            shown,
            format!("it is larger than {LARGEST} bytes"),
            help,
        ));
    }
    // A list would do for the reader below, too.
    if json.trim_start().starts_with('[') {
        let why = "it is a list: it is no dump of a pool";
        return Err(DashError::new("dump", shown, why, help));
    }
    // All else is passed over, not built: a dump may be large.
    let dump: Version = serde_json::from_str(json).map_err(|error| {
        let why = match error.classify() {
            Category::Data => {
                format!("it has no field \"punctual_dump\" with a number: it is no dump of a pool ({error})")
            }
            _ => format!("it is no JSON: {error}"),
        };
        DashError::new("dump", &shown, why, help)
    })?;
    if dump.punctual_dump != KNOWN {
        let why = format!(
            "it is of version {}, and this page knows version {KNOWN}",
            dump.punctual_dump
        );
        return Err(DashError::new(
            "dump",
            shown,
            why,
            "open it with the version that wrote it",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_of_a_version_that_is_known_is_taken() {
        let pool = punctual::Pool::fixed(1).unwrap();
        assert!(check(&pool.dump().to_json()).is_ok());
        for (text, why) in [
            ("{", "no JSON"),
            ("[1, 2]", "no dump"),
            ("{\"other\":1}", "no dump"),
            ("{\"punctual_dump\":\"1\"}", "no dump"),
            ("{\"punctual_dump\":2}", "version 2"),
        ] {
            let error = check(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
