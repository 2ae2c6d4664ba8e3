//! The page: written for each request, with the figures of that moment in a plain table, so that it says something before
//! its script runs, and to `curl`.
//!
//! Everything that comes from a pool goes through [`escaped`]. No script and no style is in the page itself.

use crate::dashboard::Shared;
use crate::frame::{self, PoolRow};
use crate::stream::Topic;
use std::fmt::Write;

/// What the page may do, told to its script by attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct May {
    pub(crate) act: bool,
    pub(crate) is_read_only: bool,
}

/// Text as HTML shows it, also between quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

fn head(title: &str, attributes: &str, assets: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en"{attributes}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="assets/{assets}/mark.svg" type="image/svg+xml">
<link rel="stylesheet" href="assets/{assets}/style.css">
"#
    )
}

/// The page.
pub(crate) fn page(shared: &Shared, may: May, assets: &str) -> String {
    let is_dump = shared.settings.dump.is_some();
    let attributes = format!(
        r#" data-may-act="{}" data-read-only="{}" data-source="{}""#,
        yes_no(may.act),
        yes_no(may.is_read_only),
        if is_dump { "dump" } else { "live" },
    );
    let mut html = head("Punctual", &attributes, assets);
    let _ = write!(
        html,
        r#"<script type="module" src="assets/{assets}/app.js"></script>
</head>
<body>
<div id="app">
<main class="plain">
<h1>Punctual</h1>
"#
    );
    if !is_dump {
        table(&mut html, &frame::next(shared, Topic::Overview).pools);
    }
    html.push_str("</main>\n</div>\n</body>\n</html>\n");
    html
}

fn yes_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}

fn table(html: &mut String, pools: &[PoolRow]) {
    html.push_str("<table>\n<thead><tr><th>pool</th><th>state</th><th>threads</th><th>active</th><th>queued</th><th>oldest wait</th><th>rejected</th></tr></thead>\n<tbody>\n");
    for pool in pools {
        let state = if pool.paused { "paused" } else { pool.state };
        let oldest = pool.oldest.map(|ms| format!("{ms:.0} ms")).unwrap_or_default();
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{state}</td><td>{} of {}/{}</td><td>{}</td><td>{}</td><td>{oldest}</td><td>{}</td></tr>",
            escaped(&pool.name),
            pool.threads,
            pool.core,
            pool.max,
            pool.active,
            pool.queued,
            pool.rejected,
        );
    }
    html.push_str("</tbody>\n</table>\n");
}

/// What is shown instead where a token is needed and there is none. It works without a script.
pub(crate) fn door(assets: &str, was_wrong: bool) -> String {
    let mut html = head("Punctual", "", assets);
    let note = if was_wrong {
        "<p class=\"error\" role=\"alert\">That is not the token.</p>\n"
    } else {
        ""
    };
    let _ = write!(
        html,
        r#"</head>
<body>
<main class="door">
<img src="assets/{assets}/mark.svg" alt="" width="48" height="48">
<h1>Punctual</h1>
<p>This dashboard needs the token that was printed when it was started.</p>
{note}<form method="post" action="session">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" required autofocus>
<button type="submit">Open</button>
</form>
</main>
</body>
</html>
"#
    );
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        let bad = r#"<img src=x onerror="alert('1')">&"#;
        let safe = escaped(bad);
        assert!(!safe.contains(['<', '>', '"', '\'']), "{safe}");
        assert_eq!(escaped("pool-1 ü"), "pool-1 ü");
    }

    #[test]
    fn pages_have_no_script_or_style_of_their_own() {
        for html in [door("v", true), door("v", false)] {
            assert!(
                !html.contains("<style") && !html.contains("style=") && !html.contains(" on"),
                "{html}"
            );
            assert!(
                !html.contains("=\"/") && !html.contains("http"),
                "only relative addresses: {html}"
            );
        }
    }
}
