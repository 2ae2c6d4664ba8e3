//! The thread that looks at all pools once a second.
//!
//! In: the registry. Out: a row in each pool's history; only while somebody watches a pool, what its workers did; and a frame for
//! each topic that somebody listens to. It belongs to
//! nobody: when the last handle, router and server of a dashboard is gone, its bell is rung and it ends. How long its looks
//! take is measured and shown: what a page costs is no secret.

use crate::DashError;
use crate::audit::milliseconds;
use crate::dashboard::Shared;
use crate::frame;
use crate::history::Reading;
use crate::registry::Entry;
use crate::schedules::Told;
use crate::stream::{self, Topic};
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime};

const SECOND: Duration = Duration::from_secs(1);

/// A pool that is gone is shown as gone for so many milliseconds.
const FAREWELL: u64 = 60_000;

/// What the sampler tells of itself.
#[derive(Debug, Default)]
pub(crate) struct Sampler {
    /// When the last look was, in milliseconds since 1970.
    pub(crate) looked: AtomicU64,
    /// Microseconds that the last look took, with and without frames.
    pub(crate) reading: AtomicU64,
    pub(crate) framing: AtomicU64,
    /// The last entry of the audit that listeners were sent.
    pub(crate) audited: AtomicU64,
    /// The schedules as they were sent.
    schedules: Mutex<Told>,
}

impl Sampler {
    pub(crate) fn schedules(&self) -> MutexGuard<'_, Told> {
        self.schedules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells the thread to end.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    is_over: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.rung.notify_all();
    }

    /// Waits until then. True: it was rung.
    fn wait(&self, until: Instant) -> bool {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_over {
            let Some(left) = until
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())
            else {
                break;
            };
            is_over = self
                .rung
                .wait_timeout(is_over, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        *is_over
    }
}

pub(crate) fn start(shared: &Arc<Shared>) -> Result<Arc<Bell>, DashError> {
    let bell = Arc::new(Bell::default());
    let (heard, weak) = (Arc::clone(&bell), Arc::downgrade(shared));
    std::thread::Builder::new()
        .name("punctual-look".into())
        .spawn(move || run(&weak, &heard))
        .map_err(|error| {
            let why = format!("the system gives no thread: {error}");
            DashError::new("sampler", "(thread)", why, "raise the limit of threads").caused(error)
        })?;
    Ok(bell)
}

fn run(shared: &Weak<Shared>, bell: &Bell) {
    crate::courtesy::step_back();
    let mut next = Instant::now();
    loop {
        match shared.upgrade() {
            Some(shared) => look(&shared),
            None => return,
        }
        // On the beat; a beat that was missed is not made up for.
        next = (next + SECOND).max(Instant::now());
        if bell.wait(next) {
            return;
        }
    }
}

/// One look at everything.
pub(crate) fn look(shared: &Shared) {
    let begin = Instant::now();
    let now = milliseconds(SystemTime::now());
    let topics = shared.hub.topics();
    for entry in shared.registry.all() {
        let is_watched = topics.contains(&Topic::Pool(entry.id)) || entry.is_asked_for(now);
        if !read(&entry, now, is_watched) {
            let _ = shared.registry.remove(entry.id);
        }
    }
    shared.sampler.looked.store(now, Release);
    shared.sampler.reading.store(micros(begin), Relaxed);
    let begin = Instant::now();
    // Once more: who came meanwhile has not seen this look. (Who comes from here on sees that there was one.)
    for topic in shared.hub.topics() {
        let json = frame::json(&frame::next(shared, topic));
        shared.hub.send(topic, &stream::event(now, &json));
    }
    shared.sampler.framing.store(micros(begin), Relaxed);
}

fn micros(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX)
}

/// Takes a row. False: the pool has been gone for a while.
fn read(entry: &Entry, now: u64, is_watched: bool) -> bool {
    let stats = entry.control.stats();
    let stalled = entry.control.stalled();
    let look = is_watched.then(|| crate::timeline::read(entry, now));
    let mut seen = entry.seen();
    match stats {
        Some(stats) => seen.history.take(Reading::of(&stats, now)),
        None => {
            let since = *seen.gone.get_or_insert(now);
            if now.saturating_sub(since) > FAREWELL {
                return false;
            }
        }
    }
    if let Some(look) = look {
        seen.timeline.take(look, now);
    }
    seen.stalled = stalled;
    true
}
