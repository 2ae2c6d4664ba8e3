//! Any text as a file. `cargo +nightly fuzz run file fuzz/seeds/file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| punctual_cli::fuzz::file(text));
