//! Rows as JSON: `{"rows":[{"scenario","metric","unit","peer","ours","theirs","ratio","spread"}]}`. `metric` begins
//! with the queue ours had, `ratio` above 1 means that ours is better, `spread` is `[min,max]` of the ratios of the
//! single rounds; `null` where ours failed. Not here: reading JSON.

use std::fmt::Write;

use crate::samples::Row;

pub(crate) fn document(rows: &[Row]) -> String {
    let rows: Vec<String> = rows.iter().map(object).collect();
    format!("{{\"rows\":[{}]}}", rows.join(","))
}

fn object(row: &Row) -> String {
    let spread = row
        .spread
        .map(|(min, max)| format!("[{},{}]", number(Some(min)), number(Some(max))));
    format!(
        "{{\"scenario\":{},\"metric\":{},\"unit\":{},\"peer\":{},\"ours\":{},\"theirs\":{},\"ratio\":{},\"spread\":{}}}",
        string(row.scenario.letter()),
        string(&format!("{} {}", row.config, row.metric.name)),
        string(row.metric.unit),
        string(row.peer.name()),
        number(row.ours),
        number(Some(row.theirs)),
        number(row.ratio),
        spread.as_deref().unwrap_or("null"),
    )
}

/// JSON has no infinities; they are as unknown as what is missing.
fn number(value: Option<f64>) -> String {
    match value {
        Some(value) if value.is_finite() => format!("{value:.4}"),
        _ => "null".to_owned(),
    }
}

fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        catalog::{Peer, Scenario},
        samples::{Samples, filled},
    };

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("plain 1/s"), r#""plain 1/s""#);
        assert_eq!(string("a\"b\\c\nd\te\r\u{1}"), r#""a\"b\\c\nd\te\r\u0001""#);
        assert_eq!(string("über"), "\"über\"");
    }

    #[test]
    fn numbers_are_plain_and_never_infinite() {
        assert_eq!(number(Some(14.25)), "14.2500");
        assert_eq!(number(Some(f64::INFINITY)), "null");
        assert_eq!(number(None), "null");
    }

    #[test]
    fn a_row_has_every_field_in_order() {
        let samples = filled(Scenario::K, |peer| if peer == Peer::JFjp { 130.0 } else { 0.0 });
        let rows: Vec<Row> = samples
            .rows(Scenario::K)
            .into_iter()
            .filter(|row| row.peer == Peer::JFjp)
            .take(1)
            .collect();
        assert_eq!(
            document(&rows),
            r#"{"rows":[{"scenario":"K","metric":"unbounded switches","unit":"1/s","peer":"j-fjp","ours":0.0000,"theirs":130.0000,"ratio":1000.0000,"spread":[1000.0000,1000.0000]}]}"#
        );
    }

    #[test]
    fn nothing_measured_is_an_empty_list_and_no_ours_is_null() {
        assert_eq!(document(&[]), r#"{"rows":[]}"#);
        let mut samples = Samples::default();
        samples.add(Scenario::F, Peer::Crossbeam, 0, Ok(vec![Some(600.0), None]));
        let text = document(&samples.rows(Scenario::F));
        assert!(
            text.contains(r#""ours":null,"theirs":600.0000,"ratio":null,"spread":null"#),
            "{text}"
        );
    }
}
