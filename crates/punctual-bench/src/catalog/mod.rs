//! What there is to measure: scenarios, peers, sizes, metrics. Everything else asks here, so a scenario or a peer is
//! added in this folder, in `measure` and in `contend` (or `java/`), and nowhere else.

mod metric;
mod peer;
mod sizes;
#[cfg(test)]
mod tests;

use std::{str::FromStr, time::Duration};

pub(crate) use metric::Metric;
pub(crate) use peer::{Kind, Peer};
pub(crate) use sizes::Sizes;

/// One thing a child process can be asked to do. The letter is what users know; several parts of one letter need
/// several processes because the memory of one measurement would serve the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    A,
    A2,
    B,
    C,
    D,
    E,
    F,
    GInsert,
    GBytes,
    GChurn,
    GGrowth,
    H,
    ISame,
    ISpread,
    J,
    K,
    KTimers,
    KCalendar,
    LExecute,
    LSubmit,
    M,
    N1,
    N2,
    N3,
    N3Bytes,
    N4,
    N5,
    O1,
    O2,
    O3,
}

impl Scenario {
    pub(crate) const ALL: [Scenario; 30] = [
        Scenario::A,
        Scenario::A2,
        Scenario::B,
        Scenario::C,
        Scenario::D,
        Scenario::E,
        Scenario::F,
        Scenario::GInsert,
        Scenario::GBytes,
        Scenario::GChurn,
        Scenario::GGrowth,
        Scenario::H,
        Scenario::ISame,
        Scenario::ISpread,
        Scenario::J,
        Scenario::K,
        Scenario::KTimers,
        Scenario::KCalendar,
        Scenario::LExecute,
        Scenario::LSubmit,
        Scenario::M,
        Scenario::N1,
        Scenario::N2,
        Scenario::N3,
        Scenario::N3Bytes,
        Scenario::N4,
        Scenario::N5,
        Scenario::O1,
        Scenario::O2,
        Scenario::O3,
    ];

    pub(crate) fn letter(self) -> &'static str {
        let id = self.id();
        id.split_once('-').map_or(id, |(letter, _)| letter)
    }

    /// The name on a child's command line: the letter, and the part of it.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Scenario::A => "A",
            Scenario::A2 => "A2",
            Scenario::B => "B",
            Scenario::C => "C",
            Scenario::D => "D",
            Scenario::E => "E",
            Scenario::F => "F",
            Scenario::GInsert => "G-insert",
            Scenario::GBytes => "G-bytes",
            Scenario::GChurn => "G-churn",
            Scenario::GGrowth => "G-growth",
            Scenario::H => "H",
            Scenario::ISame => "I-same",
            Scenario::ISpread => "I-spread",
            Scenario::J => "J",
            Scenario::K => "K",
            Scenario::KTimers => "K-timers",
            Scenario::KCalendar => "K-calendar",
            Scenario::LExecute => "L-execute",
            Scenario::LSubmit => "L-submit",
            Scenario::M => "M",
            Scenario::N1 => "N1",
            Scenario::N2 => "N2",
            Scenario::N3 => "N3",
            Scenario::N3Bytes => "N3-bytes",
            Scenario::N4 => "N4",
            Scenario::N5 => "N5",
            Scenario::O1 => "O1",
            Scenario::O2 => "O2",
            Scenario::O3 => "O3",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Scenario::A => "1 producer, fire and forget, until all ran",
            Scenario::A2 => "as A with at most 8192 in flight",
            Scenario::B => "4 producers, fire and forget, until all ran",
            Scenario::C => "submit with result, keep the handles, join all in order",
            Scenario::D => "fork tree spawned from inside the workers, no join per task",
            Scenario::E => "ping: submit one, wait for it; busy = back to back, parked = after 1 ms",
            Scenario::F => "bounded(1024), caller-runs, overloaded with ~1 us tasks",
            Scenario::GInsert => "insert timers of 1-600 s, cancel all; warm = after a random-order cancel",
            Scenario::GBytes => "memory per pending timer, and kept after all are cancelled (JVM: heap)",
            Scenario::GChurn => "cancel one and insert one while all the others stay; memory grown by it",
            Scenario::GGrowth => "insert one and cancel one beside 10k, 100k, 1M, 10M others",
            Scenario::H => "lateness of one-shots at random times, 2000 a second, and CPU",
            Scenario::ISame => "timers due at one instant: until the last has run",
            Scenario::ISpread => "timers due at 1M a second: until the last has run, and how far behind",
            Scenario::J => "tasks every 100 ms, phases staggered: CPU, late and lost ticks",
            Scenario::K => "idle pool: context switches and CPU of all its threads",
            Scenario::KTimers => "idle pool with far timers: context switches and CPU of all its threads",
            Scenario::KCalendar => {
                "idle pool with calendar work days away, watched for 30 s (times the scale)"
            }
            Scenario::LExecute => "memory per queued task, fire and forget (JVM: heap after gc)",
            Scenario::LSubmit => "memory per queued task with handle (JVM: heap after gc)",
            Scenario::M => "push and pop over 4 levels on one worker, beside 0, 1k, 100k that wait",
            Scenario::N1 => "4 levels, two workers: from outside, and beside 0, 1k, 100k that wait",
            Scenario::N2 => "wait of an URGENT task each 1 ms, behind 1000 LOW ones of ~20 us",
            Scenario::N3 => "futures: spawned and joined, woken from outside, waking themselves",
            Scenario::N3Bytes => "memory per suspended future whose handle is kept",
            Scenario::N4 => "submit and run over 10k keys, in order per key, at most 8192 in flight",
            Scenario::N5 => "shares 50/30/15/5, all levels full: largest error in any 1000 picks",
            Scenario::O1 => "a burst of tasks that sleep 10 ms, at most 64 threads; warm = threads are there",
            Scenario::O2 => "4 threads, a task each 0.5 ms, one in 32 sleeps 10 ms: mean wait",
            Scenario::O3 => "100k lanes of 10 tasks, in order per lane, at most 8192 in flight",
        }
    }

    /// Nothing is timed in these: counting to 1 takes no rounds against noise, and each would take half a minute.
    pub(crate) fn most_rounds(self) -> usize {
        if self == Scenario::KCalendar {
            2
        } else {
            usize::MAX
        }
    }

    /// Timers are put in and taken out, and hardly one ever comes due.
    pub(crate) fn is_insertion(self) -> bool {
        matches!(
            self,
            Scenario::GInsert | Scenario::GBytes | Scenario::GChurn | Scenario::GGrowth
        )
    }

    /// Needs peers that know time.
    pub(crate) fn is_timed(self) -> bool {
        let knows_time = matches!(
            self,
            Scenario::H
                | Scenario::ISame
                | Scenario::ISpread
                | Scenario::J
                | Scenario::KTimers
                | Scenario::KCalendar
        );
        self.is_insertion() || knows_time
    }

    /// Needs peers that tell levels apart, or stand for those that cannot.
    pub(crate) fn is_levelled(self) -> bool {
        matches!(self, Scenario::M | Scenario::N1 | Scenario::N2 | Scenario::N5)
    }

    /// Needs threads for work that blocks, or lanes.
    pub(crate) fn is_elastic(self) -> bool {
        matches!(self, Scenario::O1 | Scenario::O2 | Scenario::O3)
    }

    /// Whom the control repeats.
    pub(crate) fn controlled(self) -> Peer {
        match self {
            Scenario::N4 => Peer::OursKeyed,
            _ if self.is_elastic() => Peer::OursLanes,
            _ if self.is_levelled() => Peer::OursStrict,
            _ => Peer::Ours,
        }
    }

    /// For how long the parent looks at an idle child; `None` for scenarios that measure themselves.
    pub(crate) fn watch(self) -> Option<Duration> {
        match self {
            Scenario::K | Scenario::KTimers => Some(Duration::from_secs(3)),
            Scenario::KCalendar => Some(Duration::from_secs(30)),
            _ => None,
        }
    }

    /// All who take part, ours first.
    pub(crate) fn peers(self) -> Vec<Peer> {
        Peer::ALL.into_iter().filter(|peer| self.takes(*peer)).collect()
    }

    fn takes(self, peer: Peer) -> bool {
        use Peer::{
            AsyncExecutor, AsyncIo, BareFutex, BareFutexSlack1, BareNanosleep, BareNanosleepSlack1, Blocking,
            Crossbeam, Futures, HeapPool, JFixedAbq, JFixedLbq, JStpe, JTpePbq, MapInFront, Ours, OursAgain,
            OursBounded, OursFifo, OursKeyed, OursLanes, OursPinned, OursShares, OursStealing, OursStrict,
            OursUnordered, SchedTp, Tokio, TokioBlocking, TokioDelayQueue, TokioInterval, TokioSleep,
            TokioSpawnSleep,
        };
        let is_ours = matches!(peer, Ours | OursAgain);
        match self {
            Scenario::M | Scenario::N1 => {
                peer.is_levelled() || matches!(peer, OursAgain | HeapPool | JTpePbq)
            }
            Scenario::N2 => matches!(peer, OursStrict | OursAgain | OursFifo | Tokio),
            Scenario::N3 | Scenario::N3Bytes => is_ours || matches!(peer, Tokio | AsyncExecutor | Futures),
            Scenario::N4 => matches!(peer, OursKeyed | OursAgain | MapInFront | OursUnordered),
            Scenario::N5 => peer == OursShares,
            Scenario::O1 => matches!(peer, OursLanes | OursAgain | TokioBlocking | Blocking),
            Scenario::O2 => matches!(peer, OursLanes | OursAgain | OursPinned),
            Scenario::O3 => matches!(peer, OursLanes | OursAgain | OursUnordered),
            _ if peer.is_levelled() => false,
            Scenario::F => is_ours || matches!(peer, Crossbeam | JFixedLbq | JFixedAbq),
            Scenario::GInsert | Scenario::GBytes | Scenario::GChurn => {
                is_ours
                    || matches!(
                        peer,
                        SchedTp | TokioSleep | TokioSpawnSleep | TokioDelayQueue | AsyncIo | JStpe
                    )
            }
            // Ten million spawned tasks would be five gigabytes.
            Scenario::GGrowth => {
                is_ours || matches!(peer, SchedTp | TokioSleep | TokioDelayQueue | AsyncIo | JStpe)
            }
            Scenario::H => {
                is_ours
                    || Scenario::ISame.takes(peer)
                    || matches!(
                        peer,
                        BareNanosleep | BareNanosleepSlack1 | BareFutex | BareFutexSlack1
                    )
            }
            Scenario::ISame | Scenario::ISpread | Scenario::KTimers => {
                is_ours
                    || matches!(
                        peer,
                        SchedTp | TokioSpawnSleep | TokioDelayQueue | AsyncIo | JStpe
                    )
            }
            Scenario::J => is_ours || matches!(peer, SchedTp | TokioInterval | AsyncIo | JStpe),
            Scenario::KCalendar => is_ours,
            Scenario::A | Scenario::A2 => peer.is_pool(),
            Scenario::B | Scenario::C | Scenario::D => peer.is_pool() && peer != OursBounded,
            _ => peer.is_pool() && !matches!(peer, OursBounded | OursStealing),
        }
    }

    /// What a reader must know before comparing.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Scenario::D => {
                Some("the bar judges the queue that is made for this; the plain queue is there to compare")
            }
            Scenario::GInsert => Some(
                "sched-tp only marks what is cancelled, so its cancels have no ratio; tokio-sleep, tokio-delayqueue \
                 and async-io keep no closure",
            ),
            Scenario::GBytes => {
                Some("without_result: less what a submitted task's block takes in the same process")
            }
            Scenario::GChurn | Scenario::GGrowth => {
                Some("sched-tp only marks what is cancelled, so it has no ratio; see `grown`")
            }
            Scenario::H => {
                Some("bare-*: a lone thread that sleeps from time to time, the limit of the machine")
            }
            Scenario::ISame | Scenario::ISpread => {
                Some("tokio-delayqueue keeps numbers, not closures, and one task takes them all")
            }
            Scenario::M | Scenario::N1 => {
                Some("each task that runs submits the next, at another level: as many wait all the time")
            }
            Scenario::N2 => Some("ours-fifo: one pool of ours without levels, as tokio is one"),
            Scenario::N3 => Some(
                "1000 futures at a time where they are woken; futures has no handle, a channel stands for it",
            ),
            Scenario::N4 => Some(
                "map-in-front: a map of lines behind a lock before the same pool, which alone is ours-unordered",
            ),
            Scenario::N5 => {
                Some("in percent of the level's target; two picks that change places are 2 in LOW")
            }
            Scenario::O2 => Some("ours-pinned: a pool of one thread for each place, tasks dealt out in turn"),
            _ => None,
        }
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        Scenario::ALL
            .into_iter()
            .find(|scenario| scenario.id() == id)
            .ok_or_else(|| {
                let allowed: Vec<&str> = Scenario::ALL.into_iter().map(Scenario::id).collect();
                format!("unknown scenario '{id}', allowed are {}", allowed.join(", "))
            })
    }
}
