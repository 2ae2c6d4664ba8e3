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

struct Crowded {
    places: Vec<Place>,
    /// The place that was left last.
    free: u32,
    members: usize,
    spare_lines: usize,
}

/// One line of memory, as is all else that is touched for it: who comes and who goes are mostly on different cores.
#[repr(align(64))]
struct Place {
    /// A view knows its place, so that leaving touches no other.
    view: Option<Arc<View>>,
    /// For the line of whoever comes here next.
    spare_line: VecDeque<Parked>,
    /// Of a free place, the one that was left before it.
    next: u32,
}

/// Instead of a place: there is none.
const NO_PLACE: u32 = u32::MAX;

impl Crowded {
    const EMPTY: Self = Crowded {
        places: Vec::new(),
        free: NO_PLACE,
        members: 0,
        spare_lines: 0,
    };
}

impl Crowd {
    pub(crate) fn new() -> Self {
        Crowd(Lock::new(Crowded::EMPTY))
    }

    /// Under the gate's lock, as the first in line comes.
    pub(super) fn add(&self, view: &Arc<View>, line: &mut VecDeque<Parked>) {
        let mut crowded = self.0.lock();
        crowded.members += 1;
        let member = Some(view.clone());
        let number = crowded.free;
        let Some(place) = crowded.places.get_mut(number as usize) else {
            view.place.store(crowded.places.len() as u32, Relaxed);
            crowded.places.push(Place {
                view: member,
                spare_line: VecDeque::new(),
                next: NO_PLACE,
            });
            return;
        };
        view.place.store(number, Relaxed);
        place.view = member;
        let next = place.next;
        if line.capacity() == 0 && place.spare_line.capacity() > 0 {
            *line = std::mem::take(&mut place.spare_line);
            crowded.spare_lines -= 1;
        }
        crowded.free = next;
    }

    /// Under the gate's lock, as the last has left. What is left of the line comes back if it is not wanted here.
    pub(super) fn remove(&self, view: &View, line: VecDeque<Parked>) -> VecDeque<Parked> {
        let mut crowded = self.0.lock();
        crowded.members -= 1;
        if crowded.members == 0 && crowded.places.len() > SPARE_LINES {
            // After a crowd its memory goes back.
            *crowded = Crowded::EMPTY;
            return line;
        }
        let is_spare = (1..=SHORT_LINE).contains(&line.capacity()) && view.shown.is_none();
        let is_wanted = is_spare && line.is_empty() && crowded.spare_lines < SPARE_LINES;
        let (number, next) = (view.place.load(Relaxed), crowded.free);
        let place = &mut crowded.places[number as usize];
        // Not the last share: the caller has one.
        drop(place.view.take());
        place.next = next;
        if is_wanted && place.spare_line.capacity() == 0 {
            place.spare_line = line;
            crowded.spare_lines += 1;
            crowded.free = number;
            return VecDeque::new();
        }
        crowded.free = number;
        line
    }

    /// At most so many of them.
    pub(crate) fn some(&self, most: usize) -> Vec<Arc<View>> {
        let crowded = self.0.lock();
        let members = crowded.places.iter().filter_map(|place| place.view.clone());
        members.take(most).collect()
    }

    /// One after the other, each looked up when it is asked for: whoever goes through them holds none of the others.
    pub(crate) fn each(&self) -> impl Iterator<Item = Arc<View>> + '_ {
        let mut number = 0;
        std::iter::from_fn(move || {
            let crowded = self.0.lock();
            let mut rest = crowded.places.iter().enumerate().skip(number);
            let (place, view) = rest.find_map(|(place, each)| Some((place, each.view.clone()?)))?;
            number = place + 1;
            Some(view)
        })
    }

    pub(crate) fn all(&self) -> Vec<Arc<View>> {
        self.some(usize::MAX)
    }
}
