//! The ratchet: every figure of the house is exactly its committed baseline.

use xtask::Baseline;

#[test]
fn no_figure_is_above_its_baseline_and_none_has_fallen_unrecorded() {
    let measures = xtask::house(&xtask::root()).unwrap_or_else(|error| panic!("{error}"));
    let baseline = Baseline::read().unwrap_or_else(|error| panic!("{error}"));
    let complaints = baseline.complaints(&measures);
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
