//! Any text as a cron schedule. `cargo fuzz run cron fuzz/seeds/cron`, or `.ci/run fuzz` without cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| punctual_cli::fuzz::cron(text));
