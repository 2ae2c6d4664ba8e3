//! Any text as a file. `cargo fuzz run file fuzz/seeds/file`, or `.ci/run fuzz` without cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| punctual_cli::fuzz::file(text));
