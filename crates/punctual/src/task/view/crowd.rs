//! The views of a pool that have somebody in line.
//!
//! In: views whose line begins, and those whose line has ended. Out: all of them, for whoever looks for waiting tasks; and
//! places for short lines, which come and go with every few tasks. Under a lock of its own, inside a gate's.

use super::View;
use super::gate::Parked;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{Arc, Lock};
use std::collections::VecDeque;

/// Of the lines of views that are not listed so many are kept for the next, if they have at most so many places.
const SPARE_LINES: usize = 1024;
const SHORT_LINE: usize = 8;

/// The views of a pool that have somebody in line; and places for short lines, which come and go with every few tasks.
pub(crate) struct Crowd(Lock<Crowded>);

#[derive(Default)]
struct Crowded {
    /// Each view knows its place, so that leaving touches no other.
    views: Vec<Option<Arc<View>>>,
    free: Vec<u32>,
    spare_lines: Vec<VecDeque<Parked>>,
}

impl Crowd {
    pub(crate) fn new() -> Self {
        Crowd(Lock::new(Crowded::default()))
    }

    /// Under the gate's lock, as the first in line comes.
    pub(super) fn add(&self, view: &Arc<View>, line: &mut VecDeque<Parked>) {
        let mut crowded = self.0.lock();
        if line.capacity() == 0
            && let Some(spare) = crowded.spare_lines.pop()
        {
            *line = spare;
        }
        let member = Some(view.clone());
        let place = match crowded.free.pop() {
            Some(place) => {
                crowded.views[place as usize] = member;
                place
            }
            None => {
                crowded.views.push(member);
                crowded.views.len() as u32 - 1
            }
        };
        view.place.store(place, Relaxed);
    }

    /// Under the gate's lock, as the last has left. What is left of the line comes back if it is not wanted here.
    pub(super) fn remove(&self, view: &View, line: VecDeque<Parked>) -> VecDeque<Parked> {
        let mut crowded = self.0.lock();
        let place = view.place.load(Relaxed);
        // Not the last share: the caller has one.
        drop(crowded.views[place as usize].take());
        crowded.free.push(place);
        if crowded.free.len() == crowded.views.len() && crowded.views.len() > SPARE_LINES {
            // After a crowd its memory goes back.
            *crowded = Crowded::default();
        }
        let is_spare = (1..=SHORT_LINE).contains(&line.capacity()) && view.shown.is_none();
        if is_spare && line.is_empty() && crowded.spare_lines.len() < SPARE_LINES {
            crowded.spare_lines.push(line);
            return VecDeque::new();
        }
        line
    }

    /// At most so many of them.
    pub(crate) fn some(&self, most: usize) -> Vec<Arc<View>> {
        self.0.lock().views.iter().flatten().take(most).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<View>> {
        self.0.lock().views.iter().flatten().cloned().collect()
    }
}
