//! Which process is this?
//!
//! In: each fork, as `pool/fork.rs` is told of it, in the child. Out: a number that is another there than in the parent. Not here: who asks
//! the system to be told.

use super::unmodelled::{AtomicU32, Relaxed};

static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The generation of this process; remembered by pools and tasks when they are made.
#[inline]
pub(crate) fn generation() -> u16 {
    // Two processes of one line are told apart unless 65 536 forks lie between them.
    GENERATION.load(Relaxed) as u16
}

/// This is the child of a fork.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) fn begin_generation() {
    GENERATION.fetch_add(1, Relaxed);
}
