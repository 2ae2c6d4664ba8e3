//! How a loom model is run: bounded, and counted.
//!
//! In: a closure to be run under every interleaving with at most so many preemptions. Out: loom's verdict, and a line
//! with the number of interleavings, which the gate adds up. The models themselves stand beside what they model.

use crate::sync::asymmetric::IS_MODELLED;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Runs `f` under every interleaving with at most `preemptions` preemptions.
pub(crate) fn model(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    let count = std::sync::Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    builder.check(move || {
        counted.fetch_add(1, Relaxed);
        f();
    });
    println!("{} permutations", count.load(Relaxed));
}

/// The same where the light half of the asymmetric fence matters: an ordinary one here.
pub(crate) fn model_with_fences(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    IS_MODELLED.set(true);
    model(preemptions, f);
    IS_MODELLED.set(false);
}
