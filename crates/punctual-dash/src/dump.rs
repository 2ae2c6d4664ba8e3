//! A dump as it comes from a file: checked before it is shown. The page reads it itself (`assets/dump.js`).

use crate::DashError;

/// More than any recorder writes: a file of this size is something else.
const LARGEST: usize = 64 * 1024 * 1024;

pub(crate) fn check(json: &str) -> Result<(), DashError> {
    let help = "give the text of Control::dump().to_json(), or the file of `punctual dump`";
    let shown = format!("({} bytes)", json.len());
    if json.len() > LARGEST {
        return Err(DashError::new(
            "dump",
            shown,
            format!("it is larger than {LARGEST} bytes"),
            help,
        ));
    }
    let value: serde_json::Value = serde_json::from_str(json)
        .map_err(|error| DashError::new("dump", &shown, format!("it is no JSON: {error}"), help))?;
    let is_dump = value.get("punctual_dump").is_some();
    if !is_dump {
        let why = "it has no field \"punctual_dump\": it is JSON, but no dump of a pool";
        return Err(DashError::new("dump", shown, why, help));
    }
    Ok(())
}
