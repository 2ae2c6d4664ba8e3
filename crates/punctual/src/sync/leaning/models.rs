//! The protocol of a lock that leans, in all orders: nobody is inside with another, and nobody is left asleep.

#![allow(unsafe_code)]

use super::Leaning;
use crate::sync::{Arc, Cell};

struct Shared {
    lock: Leaning,
    value: Cell<u32>,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Shared {
            lock: Leaning::new(),
            value: Cell::new(0),
        })
    }

    fn bump(&self) {
        // SAFETY: between coming and leaving this thread is alone; loom's cell fails the model otherwise.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    fn as_everybody(&self) {
        self.lock.lock();
        self.bump();
        self.lock.raw.unlock();
    }

    /// By the owner, that leans afterwards.
    fn leaning(&self) {
        if self.lock.try_enter() {
            self.bump();
            self.lock.exit();
            return;
        }
        self.lock.lock();
        self.bump();
        self.lock.lean();
    }

    fn total(&self) -> u32 {
        self.lock.lock();
        // SAFETY: as above.
        self.value.with(|value| unsafe { *value })
    }
}

/// It leans on one, and another takes it away.
#[test]
fn leaning_excludes() {
    crate::models::model_with_fences(3, || {
        let shared = Shared::new();
        let other = {
            let shared = shared.clone();
            loom::thread::spawn(move || shared.as_everybody())
        };
        (0..3).for_each(|_| shared.leaning());
        other.join().unwrap();
        assert_eq!(shared.total(), 4);
    });
}

/// Two wait, one perhaps asleep, while a third leaves the lock leaning and does not come back.
#[test]
fn who_sleeps_while_it_leans_is_woken() {
    crate::models::model_with_fences(2, || {
        let shared = Shared::new();
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.as_everybody())
            })
            .collect();
        shared.leaning();
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(shared.total(), 3);
    });
}

/// It leans on one, which gives it back, and then on another: each alone inside, also when the other takes it away.
#[test]
fn it_leans_on_another_after_the_first() {
    crate::models::model_with_fences(2, || {
        let shared = Shared::new();
        let in_turn = |shared: &Shared| {
            shared.lock.lock();
            if shared.lock.claim() {
                shared.lock.lean();
                shared.leaning();
                shared.lock.lock();
                shared.lock.give_back();
            } else {
                shared.bump();
            }
            shared.lock.raw.unlock();
        };
        let other = {
            let shared = shared.clone();
            loom::thread::spawn(move || in_turn(&shared))
        };
        in_turn(&shared);
        other.join().unwrap();
        assert_eq!(shared.total(), 2);
    });
}
