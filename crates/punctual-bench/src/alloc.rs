//! Live heap bytes, for scenario L. Only with the `count-alloc` feature: a counting allocator slows every
//! allocation of every peer down, so it is no part of a normal run, where the resident size has to do.

#[cfg(feature = "count-alloc")]
#[global_allocator]
static COUNTING: cap::Cap<std::alloc::System> = cap::Cap::new(std::alloc::System, usize::MAX);

/// `None` when nothing counts.
pub(crate) fn live_bytes() -> Option<u64> {
    #[cfg(feature = "count-alloc")]
    return Some(COUNTING.allocated() as u64);
    #[cfg(not(feature = "count-alloc"))]
    None
}
