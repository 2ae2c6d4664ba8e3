//! Who is measured, and what must be known about each to compare fairly. In: nothing. Out: names and properties. Not
//! here: which scenario takes whom, see the scenarios.

use std::str::FromStr;

use super::Scenario;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    Ours,
    OursBounded,
    /// Ours with a deque for each worker.
    OursStealing,
    /// Ours with four levels, each rule; its tasks go to the levels in turn.
    OursStrict,
    OursAging,
    OursShares,
    /// Ours through `keyed`.
    OursKeyed,
    /// Ours for work that blocks.
    OursLanes,
    /// The control: ours under a second name. What its row shows is noise.
    OursAgain,
    Rayon,
    Tokio,
    TokioBlocking,
    AsyncExecutor,
    Futures,
    Threadpool,
    RustyPool,
    Crossbeam,
    /// One pool of ours without levels, where the one with levels is measured: what there was before.
    OursFifo,
    /// Pools of one thread each.
    OursPinned,
    /// The crate of that name.
    Blocking,
    /// A heap behind a lock and two threads: what people write when they need priorities.
    HeapPool,
    /// A map of lines behind a lock, before a pool of ours: what people write to keep tasks of a key in order.
    MapInFront,
    SchedTp,
    /// A boxed `Sleep`, polled once.
    TokioSleep,
    /// A spawned task that sleeps and then calls the closure.
    TokioSpawnSleep,
    TokioDelayQueue,
    TokioInterval,
    AsyncIo,
    BareNanosleep,
    BareNanosleepSlack1,
    BareFutex,
    BareFutexSlack1,
    /// The pool behind both that keep an order, without one.
    OursUnordered,
    /// The second edition of the engine, beside the first until it takes its place.
    OursNext,
    JFixedLbq,
    JFixedAbq,
    JFjp,
    JStpe,
    /// `ThreadPoolExecutor` over a `PriorityBlockingQueue`.
    JTpePbq,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ours,
    Control,
    Rust,
    /// What the kernel gives to a thread that does nothing else, or a pool without what is asked for: no rival, nobody
    /// can be better.
    Limit,
    Jvm,
}

impl Peer {
    pub(crate) const ALL: [Peer; 39] = [
        Peer::Ours,
        Peer::OursBounded,
        Peer::OursStealing,
        Peer::OursStrict,
        Peer::OursAging,
        Peer::OursShares,
        Peer::OursKeyed,
        Peer::OursLanes,
        Peer::OursAgain,
        Peer::Rayon,
        Peer::Tokio,
        Peer::TokioBlocking,
        Peer::AsyncExecutor,
        Peer::Futures,
        Peer::Threadpool,
        Peer::RustyPool,
        Peer::Crossbeam,
        Peer::OursFifo,
        Peer::OursPinned,
        Peer::Blocking,
        Peer::HeapPool,
        Peer::MapInFront,
        Peer::SchedTp,
        Peer::TokioSleep,
        Peer::TokioSpawnSleep,
        Peer::TokioDelayQueue,
        Peer::TokioInterval,
        Peer::AsyncIo,
        Peer::BareNanosleep,
        Peer::BareNanosleepSlack1,
        Peer::BareFutex,
        Peer::BareFutexSlack1,
        Peer::OursUnordered,
        Peer::OursNext,
        Peer::JFixedLbq,
        Peer::JFixedAbq,
        Peer::JFjp,
        Peer::JStpe,
        Peer::JTpePbq,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Ours => "ours",
            Peer::OursBounded => "ours-bounded",
            Peer::OursStealing => "ours-stealing",
            Peer::OursStrict => "ours-strict",
            Peer::OursAging => "ours-aging",
            Peer::OursShares => "ours-shares",
            Peer::OursKeyed => "ours-keyed",
            Peer::OursLanes => "ours-lanes",
            Peer::OursAgain => "ours-again",
            Peer::Rayon => "rayon",
            Peer::Tokio => "tokio",
            Peer::TokioBlocking => "tokio-blocking",
            Peer::AsyncExecutor => "async-executor",
            Peer::Futures => "futures",
            Peer::Threadpool => "threadpool",
            Peer::RustyPool => "rusty_pool",
            Peer::Crossbeam => "crossbeam",
            Peer::OursFifo => "ours-fifo",
            Peer::OursPinned => "ours-pinned",
            Peer::Blocking => "blocking",
            Peer::HeapPool => "heap-pool",
            Peer::MapInFront => "map-in-front",
            Peer::OursUnordered => "ours-unordered",
            Peer::OursNext => "ours-next",
            Peer::SchedTp => "sched-tp",
            Peer::TokioSleep => "tokio-sleep",
            Peer::TokioSpawnSleep => "tokio-spawn-sleep",
            Peer::TokioDelayQueue => "tokio-delayqueue",
            Peer::TokioInterval => "tokio-interval",
            Peer::AsyncIo => "async-io",
            Peer::BareNanosleep => "bare-nanosleep",
            Peer::BareNanosleepSlack1 => "bare-nanosleep-slack1",
            Peer::BareFutex => "bare-futex",
            Peer::BareFutexSlack1 => "bare-futex-slack1",
            Peer::JFixedLbq => "j-fixed-lbq",
            Peer::JFixedAbq => "j-fixed-abq",
            Peer::JFjp => "j-fjp",
            Peer::JStpe => "j-stpe",
            Peer::JTpePbq => "j-tpe-pbq",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Peer::Ours | Peer::OursBounded | Peer::OursStealing => Kind::Ours,
            Peer::OursStrict | Peer::OursAging | Peer::OursShares | Peer::OursKeyed | Peer::OursLanes => {
                Kind::Ours
            }
            Peer::OursAgain => Kind::Control,
            Peer::JFixedLbq | Peer::JFixedAbq | Peer::JFjp | Peer::JStpe | Peer::JTpePbq => Kind::Jvm,
            Peer::BareNanosleep | Peer::BareNanosleepSlack1 | Peer::BareFutex | Peer::BareFutexSlack1 => {
                Kind::Limit
            }
            Peer::OursUnordered | Peer::OursNext => Kind::Limit,
            _ => Kind::Rust,
        }
    }

    /// A pool of threads or tasks, for the scenarios without time and without levels.
    pub(crate) fn is_pool(self) -> bool {
        match self {
            Peer::Ours | Peer::OursBounded | Peer::OursStealing | Peer::OursAgain => true,
            Peer::OursStrict | Peer::OursAging | Peer::OursShares => true,
            Peer::Rayon | Peer::Tokio | Peer::TokioBlocking | Peer::AsyncExecutor | Peer::Futures => true,
            Peer::Threadpool | Peer::RustyPool | Peer::Crossbeam | Peer::OursNext => true,
            Peer::JFixedLbq | Peer::JFixedAbq | Peer::JFjp => true,
            Peer::SchedTp | Peer::TokioSleep | Peer::TokioSpawnSleep | Peer::TokioDelayQueue => false,
            Peer::TokioInterval | Peer::AsyncIo | Peer::JStpe => false,
            Peer::OursFifo | Peer::HeapPool | Peer::JTpePbq => false,
            Peer::OursKeyed | Peer::MapInFront | Peer::OursUnordered => false,
            Peer::OursLanes | Peer::OursPinned | Peer::Blocking => false,
            Peer::BareNanosleep | Peer::BareNanosleepSlack1 | Peer::BareFutex | Peer::BareFutexSlack1 => {
                false
            }
        }
    }

    /// A rival, not ours and not a limit.
    pub(crate) fn is_rival(self) -> bool {
        matches!(self.kind(), Kind::Rust | Kind::Jvm)
    }

    /// What is kept until the time comes. In G (and its parts) these keep a closure and give a handle back, as ours
    /// does; the others keep a waker or a number, and somebody else has to keep what is to be done.
    pub(crate) fn owns_closure(self, scenario: Scenario) -> bool {
        match self {
            Peer::TokioSleep | Peer::TokioDelayQueue => false,
            // Where it only inserts it is a bare timer; where things run it is a task of an executor.
            Peer::AsyncIo => !scenario.is_insertion(),
            _ => self.kind() != Kind::Limit,
        }
    }

    /// Whether a cancelled timer is taken out. The others mark it and keep it, with all it holds, until its time comes:
    /// cheap, but no cancellation to be compared with.
    pub(crate) fn removes_on_cancel(self) -> bool {
        self != Peer::SchedTp
    }

    /// Ours with levels. In scenarios without them only for `ir`, where the rules are compared with the plain pool.
    pub(crate) fn is_levelled(self) -> bool {
        matches!(self, Peer::OursStrict | Peer::OursAging | Peer::OursShares)
    }

    /// The queue ours had, as the rows say it.
    pub(crate) fn config(self, scenario: Scenario) -> &'static str {
        match (self, scenario) {
            (Peer::OursBounded, _) => "bounded with room",
            (Peer::OursStealing, _) => "stealing",
            (Peer::OursStrict, _) => "4 levels, strict",
            (Peer::OursAging, _) => "4 levels, aging",
            (Peer::OursKeyed, _) => "keyed",
            (Peer::OursLanes, _) => "lanes",
            (Peer::OursShares, _) => "4 levels, shares",
            // Beside the queue that is made for forking, the row must not pass for one.
            (_, Scenario::D) => "plain queue",
            (_, Scenario::F) => "bounded(1024)",
            _ => "unbounded",
        }
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Peer::ALL
            .into_iter()
            .find(|peer| peer.name() == name)
            .ok_or_else(|| {
                let allowed: Vec<&str> = Peer::ALL.into_iter().map(Peer::name).collect();
                format!("unknown peer '{name}', allowed are {}", allowed.join(", "))
            })
    }
}
