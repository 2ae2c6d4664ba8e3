//! The limits of the machine for lateness: one thread that sleeps from time to time, by `clock_nanosleep` or on a futex,
//! with the kernel's default slack or the smallest. Not a peer: nothing is kept, ordered or run.

use std::{
    num::{NonZeroU32, NonZeroU64},
    sync::atomic::AtomicU32,
    time::{Duration, Instant},
};

use rustix::{
    thread::{
        ClockId, clock_nanosleep_absolute,
        futex::{self, Flags},
        set_current_timer_slack,
    },
    time::{Timespec, clock_gettime},
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bare {
    pub(crate) on_futex: bool,
    pub(crate) least_slack: bool,
}

impl Bare {
    /// Sleeps until each of `offsets` after now in turn, which have to be sorted, and says how late it was. A time that is
    /// past already is late without a sleep, as for everybody.
    pub(crate) fn sleep_through(self, offsets: &[Duration]) -> Vec<f64> {
        if self.least_slack {
            set_current_timer_slack(NonZeroU64::new(1)).expect("a thread may set its own slack");
        }
        // In this order, so that the kernel's time is never before ours.
        let base = Instant::now();
        let kernel_base = clock_gettime(ClockId::Monotonic);
        let late = |offset: &Duration| {
            if base + *offset > Instant::now() {
                self.sleep_until(plus(kernel_base, *offset));
            }
            let due = base + *offset;
            let now = Instant::now();
            assert!(now >= due, "the kernel woke a thread early");
            (now - due).as_nanos() as f64
        };
        offsets.iter().map(late).collect()
    }

    fn sleep_until(self, at: Timespec) {
        if self.on_futex {
            // Nobody ever wakes it: it ends by its time, or by a signal, of which there are none.
            let never_woken = AtomicU32::new(0);
            let _ = futex::wait_bitset(&never_woken, Flags::PRIVATE, 0, Some(&at), NonZeroU32::MAX);
        } else {
            clock_nanosleep_absolute(ClockId::Monotonic, &at).expect("no signals are sent here");
        }
    }
}

fn plus(base: Timespec, offset: Duration) -> Timespec {
    let nanos = base.tv_nsec + i64::from(offset.subsec_nanos());
    Timespec {
        tv_sec: base.tv_sec + offset.as_secs() as i64 + nanos / 1_000_000_000,
        tv_nsec: nanos % 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_carry_over() {
        let base = Timespec {
            tv_sec: 7,
            tv_nsec: 999_999_999,
        };
        let sum = plus(base, Duration::new(2, 1));
        assert_eq!((sum.tv_sec, sum.tv_nsec), (10, 0));
        let sum = plus(base, Duration::ZERO);
        assert_eq!((sum.tv_sec, sum.tv_nsec), (7, 999_999_999));
    }

    #[test]
    fn every_limit_is_late_and_never_early() {
        let offsets: Vec<Duration> = (0..5).map(Duration::from_millis).collect();
        for (on_futex, least_slack) in [(false, false), (false, true), (true, false), (true, true)] {
            let bare = Bare {
                on_futex,
                least_slack,
            };
            // In a thread of its own, which takes its slack with it.
            let late = std::thread::scope(|scope| scope.spawn(|| bare.sleep_through(&offsets)).join());
            assert_eq!(late.map(|late| late.len()).ok(), Some(5));
        }
    }
}
