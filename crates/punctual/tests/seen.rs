//! A pool seen and steered from outside: `SEE-..`. A binary of its own, so that what shows a pool can be tested without
//! building all the rest.

/// What waits and what runs, and what can be done with it.
#[path = "seen/controlling.rs"]
mod controlling;
/// While tasks end as fast as they are looked at.
#[path = "seen/racing.rs"]
mod racing;
/// What several modules need.
#[path = "it/support.rs"]
#[allow(dead_code, reason = "the other binary needs more of it")]
mod support;
