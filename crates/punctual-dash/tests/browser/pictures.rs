//! Pictures of the page, for the documents: of whatever runs at `PUNCTUAL_PICTURES_OF`, into the folder `PUNCTUAL_PICTURES`.
//!
//! `cargo run --release -p punctual-examples --example dashboard` prints an address to take them of.

use crate::chrome::Chrome;
use std::time::Duration;

/// Name, page, width, height, colours.
const PICTURES: [(&str, &str, u32, u32, &str); 8] = [
    ("overview-light", "overview", 1280, 720, "light"),
    ("overview-dark", "overview", 1280, 720, "dark"),
    ("pool-light", "pool/1/orders", 1280, 1500, "light"),
    ("pool-dark", "pool/1/orders", 1280, 1500, "dark"),
    ("schedules-light", "schedules", 1280, 480, "light"),
    ("phone-light", "overview", 390, 844, "light"),
    ("phone-dark", "pool/1/orders", 390, 844, "dark"),
    ("mail-light", "pool/2/mail", 1280, 1800, "light"),
];

#[test]
fn pictures_are_taken_where_somebody_asks_for_them() {
    let asked =
        std::env::var("PUNCTUAL_PICTURES_OF").and_then(|of| Ok((of, std::env::var("PUNCTUAL_PICTURES")?)));
    let Ok((address, folder)) = asked else {
        println!("skipped: nobody asks for pictures (PUNCTUAL_PICTURES_OF, PUNCTUAL_PICTURES)");
        return;
    };
    let Some(mut chrome) = Chrome::start() else {
        return;
    };
    let seconds = std::env::var("PUNCTUAL_PICTURES_AFTER")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3);
    for (name, page, width, height, theme) in PICTURES {
        chrome.window(width, height, theme);
        chrome.open("about:blank");
        chrome.open(&format!("{address}#/{page}"));
        chrome.until("document.querySelector('[data-testid=\"live\"]')?.textContent === 'live'");
        // The chart of workers needs a few looks.
        std::thread::sleep(Duration::from_secs(seconds));
        let picture = chrome.picture();
        std::fs::write(format!("{folder}/{name}.png.base64"), picture).unwrap();
    }
    assert!(chrome.complaints.is_empty(), "{:?}", chrome.complaints);
}
