//! The sleep of one thread: an unpark that comes first is kept.

use super::atomic::Ordering::{Acquire, Release};
use super::wait_word::WaitWord;
use std::time::{Duration, Instant};

/// Set by [`Parker::unpark`], cleared by the thread that parks.
const TOKEN: u32 = 1;

/// See the module.
#[derive(Debug)]
pub(crate) struct Parker {
    word: WaitWord,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Parker {
            word: WaitWord::new(0),
        }
    }

    /// Sleeps until [`Parker::unpark`], at most `limit`. True: it was unparked, and the token is used up. Called by one thread.
    pub(crate) fn park(&self, limit: Option<Duration>) -> bool {
        let end = limit.map(|limit| Instant::now().checked_add(limit));
        loop {
            let seen = self.word.load();
            if seen & TOKEN != 0 {
                self.word.0.fetch_and(!TOKEN, Acquire);
                return true;
            }
            // Beyond what an `Instant` can hold there is no end.
            let left = match end.flatten() {
                Some(end) => match end.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => Some(left),
                    _ => return false,
                },
                None => None,
            };
            self.word.sleep(seen, left);
        }
    }

    /// Release pairs with the Acquire of the parked thread's look (model `an_unpark_is_kept`).
    pub(crate) fn unpark(&self) {
        if self.word.0.fetch_or(TOKEN, Release) & TOKEN == 0 {
            self.word.wake_all();
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::Parker;
    use crate::sync::Arc;
    use crate::sync::atomic::AtomicBool;
    use crate::sync::atomic::Ordering::Relaxed;

    #[test]
    fn an_unpark_is_kept() {
        loom::model(|| {
            let shared = Arc::new((Parker::new(), AtomicBool::new(false)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || {
                other.1.store(true, Relaxed);
                other.0.unpark();
            });
            assert!(shared.0.park(None));
            assert!(shared.1.load(Relaxed), "what came before the unpark is seen");
            thread.join().unwrap();
        });
    }
}
