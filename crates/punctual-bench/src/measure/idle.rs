//! Scenario K, the child's half: a pool that has worked once and then has nothing to do. The parent watches from
//! outside (`/proc` of the child), so that the watching is not in the numbers; this side only says when it is ready
//! and then waits, itself asleep, until its standard input ends.

use std::io::{self, Read, Write};

use super::Figures;
use crate::{child, contend::Contender};

pub(crate) fn run<P: Contender>(pool: &'static P, tasks: u64) -> Figures {
    super::throughput::fire(pool, tasks);
    // Both can only fail when the parent is gone, and then nobody waits for an answer.
    let _ = writeln!(io::stdout(), "{}", child::READY);
    let _ = io::stdout().flush();
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Figures::new()
}
