//! What a request carries beside its path: the query, a body, numbers in both. Everything is bounded.

use super::App;
use crate::access::Refusal;
use crate::registry::Entry;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::time::Duration;

/// The largest thing that is sent here is two numbers.
const BODY_BYTES: usize = 16 * 1024;

/// For a body of that size.
const BODY_TIME: Duration = Duration::from_secs(5);

/// Longer texts in a query are nobody's filter.
const TEXT_BYTES: usize = 1024;

fn bad(code: &'static str, text: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, code, text)
}

/// `a=b&c=d`, of a query or of a form.
pub(super) fn value(text: &str, key: &str) -> Option<String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    let mut ours = pairs.filter(|(name, _)| *name == key);
    ours.next().map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len().min(TEXT_BYTES));
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        if bytes.len() == TEXT_BYTES {
            break;
        }
        let hex = |digit: u8| (digit as char).to_digit(16).map(|digit| digit as u8);
        let pair = match after {
            [high, low, ..] if *first == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match (first, pair) {
            (_, Some((high, low))) => {
                bytes.push(high * 16 + low);
                rest = &after[2..];
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            (other, _) => {
                bytes.push(*other);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A text of the query.
pub(super) fn query(uri: &Uri, key: &str) -> Option<String> {
    value(uri.query().unwrap_or_default(), key)
}

/// A number of the query. Absent is no error, anything but a number is.
pub(super) fn number<T: std::str::FromStr>(uri: &Uri, key: &str) -> Result<Option<T>, Refusal> {
    let Some(text) = query(uri, key) else {
        return Ok(None);
    };
    let shown: String = text.chars().take(40).collect();
    let parsed = text.parse();
    parsed.map(Some).map_err(|_| {
        bad(
            "bad_query",
            format!("{key} = {shown:?} is no whole number that fits; write {key}=8"),
        )
    })
}

/// A number of the query that must be there.
pub(super) fn needed<T: std::str::FromStr>(uri: &Uri, key: &str) -> Result<T, Refusal> {
    number(uri, key)?.ok_or_else(|| {
        bad(
            "bad_query",
            format!("{key} is missing; add {key}=.. to the query"),
        )
    })
}

/// Whether an answer may be compressed with gzip.
pub(super) fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut codings = accepted
        .filter_map(|text| text.to_str().ok())
        .flat_map(|text| text.split(','));
    codings.any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        // "gzip;q=0" means anything but that.
        let is_refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
        is_gzip && !is_refused
    })
}

/// The pool of a path.
pub(super) fn entry(app: &App, id: &str) -> Result<Arc<Entry>, Refusal> {
    let found = id.parse().ok().and_then(|id| app.shared.registry.find(id));
    found.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "no_such_pool",
            "no pool of that number is shown; api/v1/snapshot lists them",
        )
    })
}

/// The whole body, within its limits.
pub(super) async fn body(app: &App, body: Body) -> Result<Bytes, Refusal> {
    let too_large = |_| {
        let text = format!("the body is larger than {BODY_BYTES} bytes, or ended early");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", text)
    };
    let read = to_bytes(body, BODY_BYTES);
    if !app.way_in.has_timer {
        return read.await.map_err(too_large);
    }
    match tokio::time::timeout(BODY_TIME, read).await {
        Ok(read) => read.map_err(too_large),
        Err(_) => {
            let text = format!("the body did not come within {BODY_TIME:?}");
            Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", text))
        }
    }
}

/// The body as JSON. The parser goes 128 levels deep and no further.
pub(super) async fn parsed<T: DeserializeOwned>(
    app: &App,
    headers: &HeaderMap,
    content: Body,
) -> Result<T, Refusal> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    if !is_json {
        let text = "the body must be JSON: send Content-Type: application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", text));
    }
    let bytes = body(app, content).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| bad("bad_json", format!("the body cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_who_takes_it() {
        let takes = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, text.parse().unwrap());
            takes_gzip(&headers)
        };
        assert!(!takes_gzip(&HeaderMap::new()));
        for text in ["gzip", "br, GZIP", "deflate, gzip;q=0.5"] {
            assert!(takes(text), "{text}");
        }
        for text in ["", "br", "gzip;q=0", "gzip; q=0.0, br", "x-gzip"] {
            assert!(!takes(text), "{text}");
        }
    }

    #[test]
    fn queries_are_taken_apart() {
        let uri: Uri = "/x?pool=7&filter=a%20b%2Bc+d&bad=%zz%4&core=".parse().unwrap();
        assert_eq!(number(&uri, "pool").unwrap(), Some(7_usize));
        assert_eq!(query(&uri, "filter").as_deref(), Some("a b+c d"));
        assert_eq!(query(&uri, "bad").as_deref(), Some("%zz%4"));
        assert_eq!(number::<usize>(&uri, "absent").unwrap(), None);
        assert!(
            needed::<usize>(&uri, "core")
                .unwrap_err()
                .text
                .contains("core = \"\"")
        );
        assert!(
            needed::<usize>(&uri, "max")
                .unwrap_err()
                .text
                .contains("max is missing")
        );
        let long = format!("/x?filter={}", "a".repeat(5_000));
        assert_eq!(query(&long.parse().unwrap(), "filter").unwrap().len(), TEXT_BYTES);
    }
}
