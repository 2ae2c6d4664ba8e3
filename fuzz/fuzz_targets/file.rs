//! Any text as a file. `.ci/run fuzz` for some seconds, on the stable compiler; `cargo +nightly fuzz run file fuzz/seeds/file` for longer.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| punctual_cli::fuzz::file(text));
