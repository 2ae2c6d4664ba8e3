//! Those in a view's line: looked at, and taken out of it without a slot.
//!
//! In: a question about the line, or a task in it that is not to wait any more. Out: what was found, or what was taken out; whoever
//! takes gives back what it holds. Not here: the way out with a slot ([`View::next`]).

use super::View;
use super::crowd::Crowd;
use super::line::Parked;
use crate::sync::Arc;
use crate::task::block::{Entry, Header, Reference};
use crate::time::Tick;

/// Dead entries in a line may be this many more than live ones before they are swept out.
const DEAD_SLACK: usize = 1024;

/// So much of a line is looked through for one task.
const LOOKED_THROUGH: usize = 1024;

/// Where a task stands in a view's line.
pub(crate) enum InLine {
    /// So many are before it, dead ones included.
    At(usize),
    Absent,
    /// Not among the first thousand, and there are more.
    Beyond,
}

impl View {
    /// When the first in line arrived, at the latest, and what `f` says of it.
    pub(crate) fn first_in_line<R>(&self, f: impl FnOnce(&Header) -> R) -> Option<(Tick, R)> {
        let gate = self.gate.lock();
        let first = gate.line.first()?;
        Some((first.arrived, f(first.entry.header())))
    }

    /// Where in the line a task stands.
    pub(crate) fn find_in_line(&self, task: &Header) -> InLine {
        let gate = self.gate.lock();
        let is_it = |parked: &Parked| std::ptr::eq(parked.entry.header(), task);
        match gate.line.iter().take(LOOKED_THROUGH).position(is_it) {
            Some(ahead) => InLine::At(ahead),
            None if gate.line.len() <= LOOKED_THROUGH => InLine::Absent,
            None => InLine::Beyond,
        }
    }

    /// The first tasks of the line that wait still.
    pub(crate) fn list_line(&self, most: usize) -> Vec<Arc<Reference>> {
        let gate = self.gate.lock();
        let looked = gate.line.iter().take(LOOKED_THROUGH);
        let waiting = looked.filter(|parked| !parked.entry.is_dead_in_line() && !parked.entry.is_begun());
        waiting
            .filter_map(|parked| parked.entry.refer())
            .take(most)
            .collect()
    }

    /// Whether somebody is in line. A view that has nobody leaves the crowd.
    pub(super) fn has_line(&self, crowd: &Crowd) -> bool {
        let gate = self.gate.lock();
        if gate.line.is_empty() {
            crowd.remove(self);
        }
        !gate.line.is_empty()
    }

    /// The least urgent task of the line, by what `level` says of those that may go, and when it arrived, at the latest: of
    /// equal ones the first. Among as many as are looked through.
    pub(crate) fn least_urgent(&self, level: impl Fn(&Header) -> Option<usize>) -> Option<(usize, Tick)> {
        let gate = self.gate.lock();
        let mut least = None;
        for parked in gate.line.iter().take(LOOKED_THROUGH) {
            let header = parked.entry.header();
            let level = level(header).filter(|_| !header.state.load().is_claimed());
            if let Some(level) = level
                && least.is_none_or(|(least, _)| level > least)
            {
                least = Some((level, parked.arrived));
            }
        }
        least
    }

    /// Takes the first in line out that can be claimed.
    pub(crate) fn take_first(&self, claim: impl Fn(&Header) -> bool) -> Option<Entry> {
        let mut gate = self.gate.lock();
        let parked = gate.line.take_first(|parked| claim(parked.entry.header()))?;
        if gate.line.is_empty() {
            gate.dead = 0;
        }
        Some(parked.entry)
    }

    /// A task that stands in a line, here or elsewhere in its chain, was claimed; it stays there. True: the dead are too
    /// many.
    pub(crate) fn lose(&self) -> bool {
        let mut gate = self.gate.lock();
        if gate.line.is_empty() {
            return false;
        }
        gate.dead += 1;
        let live = gate.line.len().saturating_sub(gate.dead as usize);
        gate.dead as usize > live + DEAD_SLACK
    }

    /// Takes the dead out of the line.
    pub(crate) fn sweep(&self) -> Vec<Parked> {
        self.take_from_line(Entry::is_dead_in_line)
    }

    /// Takes everybody out of the line.
    pub(crate) fn clear_line(&self) -> Vec<Parked> {
        self.take_from_line(|_| true)
    }

    fn take_from_line(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<Parked> {
        let mut gate = self.gate.lock();
        gate.dead = 0;
        gate.line.take_all(|parked| is_wanted(&parked.entry))
    }
}
