//! Any bytes as what a client sends to the dashboard. `.ci/run fuzz` for some seconds, on the stable compiler; `cargo +nightly fuzz run
//! request fuzz/seeds/request` for longer.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    punctual_dash::fuzz::request(bytes);
});
