//! Any text as a cron schedule. `cargo +nightly fuzz run cron fuzz/seeds/cron`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| punctual_cli::fuzz::cron(text));
