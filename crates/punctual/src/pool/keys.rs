//! Views by key: tasks with the same key go one after the other.
//!
//! In: a hashed key. Out: the key's view, made when its first task comes. A view of which no task is left is kept for the
//! next of its key: made and unmade for each task it would cost more than the task. Beyond some thousands new keys make room
//! for themselves, each looks at two others; so those that are kept are never many more than were in use at once, and a pool
//! that has been quiet for a while lets go of them. Executors have the key and not its view: they keep nothing here.
//!
//! **One at a time.** Whoever has a task of a key, or waits with one, has a share of its view, and gets it under the shard's lock
//! or from somebody who has one. (Who looks through the crowd has one for a moment, and no task.) A view goes when the share here is the only one, and is let go of under the same lock: so there
//! are never two of a key with tasks, and what comes after sees what the last task did.
//!
//! Keys are told apart by 64 bits of a hash with a secret of the pool's own; two keys that meet there share a view, which keeps
//! their order and costs them their independence.

use crate::sync::atomic::Ordering::Acquire;
use crate::sync::atomic::fence;
use crate::sync::unmodelled::{AtomicBool, Relaxed};
use crate::sync::{Arc, Lock, Padded};
use crate::task::view::View;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::num::NonZeroU64;

/// How many locks share the keys: submitters with different keys rarely meet at one.
const SHARDS: usize = 16;

/// A key as the pool knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(NonZeroU64);

/// The keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are written as one number");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// Idle keys that one new key makes room for: enough to be ahead of those that come.
const SWEPT: usize = 2;

/// So many a shard keeps before new ones make room: three megabytes in all, while a pool is at work.
const KEPT: usize = 1024;

/// Some of the keys.
#[derive(Default)]
struct Shard {
    views: HashMap<Key, Arc<View>, BuildHasherDefault<AsIs>>,
    /// The keys in the order in which they are looked at.
    round: VecDeque<Key>,
}

/// See the module's header.
pub(crate) struct Keys {
    secret: foldhash::quality::RandomState,
    shards: Box<[Padded<Lock<Shard>>]>,
    /// Whether there may be anything to [`Keys::sweep`], and nobody sees to it.
    is_used: AtomicBool,
}

impl Keys {
    pub(super) fn new() -> Self {
        Keys {
            secret: foldhash::quality::RandomState::default(),
            shards: (0..SHARDS).map(|_| Padded(Lock::new(Shard::default()))).collect(),
            is_used: AtomicBool::new(false),
        }
    }

    /// The hash of a key inside a view, which has keys of its own.
    pub(crate) fn hash(&self, key: impl Hash, inside: Option<&Arc<View>>) -> Key {
        let hash = self.secret.hash_one(key);
        let hash = match inside {
            None => hash,
            Some(view) => self.secret.hash_one((view.identity(), hash)),
        };
        Key(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX))
    }

    fn shard(&self, key: Key) -> &Lock<Shard> {
        // The table takes the lowest bits and the highest seven.
        &self.shards[(key.0.get() >> 48) as usize % SHARDS]
    }

    /// What `f` says of the view of a key, or of the one that is made now. Nobody else lets go of it meanwhile.
    #[inline]
    pub(crate) fn with<R>(
        &self,
        key: Key,
        make: impl FnOnce() -> Arc<View>,
        f: impl FnOnce(&Arc<View>) -> R,
    ) -> R {
        let mut shard = self.shard(key).lock();
        if let Some(view) = shard.views.get(&key) {
            View::prefetch(view);
            return f(view);
        }
        let (view, idle) = self.add(&mut shard, key, make());
        let result = f(&view);
        drop(shard);
        // Without the lock: a view inside another is that one's share, too.
        drop((view, idle));
        result
    }

    #[cold]
    #[inline(never)]
    fn add(&self, shard: &mut Shard, key: Key, view: Arc<View>) -> (Arc<View>, [Option<Arc<View>>; SWEPT]) {
        self.is_used.store(true, Relaxed);
        let mut idle = [const { None }; SWEPT];
        if shard.round.len() > KEPT {
            idle = std::array::from_fn(|_| shard.next_idle());
        }
        shard.views.insert(key, view.clone());
        shard.round.push_back(key);
        (view, idle)
    }

    /// Whether keys that nobody uses may be there; if so, the caller sees to it: [`Keys::sweep`] or [`Keys::put_off`].
    pub(crate) fn see_to(&self) -> bool {
        self.is_used.load(Relaxed) && self.is_used.swap(false, Relaxed)
    }

    /// Somebody else is to see to it.
    pub(crate) fn put_off(&self) {
        self.is_used.store(true, Relaxed);
    }

    /// Lets go of all keys that nobody uses.
    pub(crate) fn sweep(&self) {
        for shard in &self.shards {
            let mut idle = Vec::new();
            let mut shard = shard.lock();
            for _ in 0..shard.round.len() {
                idle.extend(shard.next_idle());
            }
            shard.views.shrink_to_fit();
            shard.round.shrink_to_fit();
            drop(shard);
            drop(idle);
        }
    }

    /// How many keys have a view now.
    #[cfg(all(test, not(any(loom, shuttle))))]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().views.len()).sum()
    }
}

impl Shard {
    /// Looks at the next key: takes it out if nobody uses it.
    fn next_idle(&mut self) -> Option<Arc<View>> {
        let key = self.round.pop_front()?;
        // A share that brings tasks is made under this lock, or by somebody who has one: whoever is alone here stays so. (Who goes
        // through the crowd has one for a moment, and brings none.)
        let is_idle = self
            .views
            .get(&key)
            .is_some_and(|view| Arc::strong_count(view) == 1);
        if is_idle {
            // After all that those did who had one; the next task of the key is to see it.
            fence(Acquire);
            return self.views.remove(&key);
        }
        self.round.push_back(key);
        None
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{KEPT, Keys, SHARDS};
    use crate::sync::Arc;
    use crate::sync::unmodelled::{AtomicUsize, Relaxed};
    use crate::{Clock, Executor, Pool, Schedule};
    use std::time::Duration;

    /// Until the workers have let go of the last task of each.
    fn sweep_to(keys: &Keys, len: usize) {
        let begin = std::time::Instant::now();
        keys.sweep();
        while keys.len() > len && begin.elapsed() < Duration::from_secs(60) {
            crate::sync::yield_now();
            keys.sweep();
        }
        assert_eq!(keys.len(), len);
    }

    fn has_same_view(one: &Executor, two: &Executor) -> bool {
        Arc::ptr_eq(&one.own_view().unwrap(), &two.own_view().unwrap())
    }

    #[test]
    fn a_key_without_tasks_makes_room_also_if_its_executor_is_kept() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let kept = pool.keyed("kept");
        kept.submit(|| ()).unwrap().join().unwrap();
        let mut most = 0;
        for key in 0..4 * KEPT * SHARDS {
            pool.keyed(key).submit(|| ()).unwrap().join().unwrap();
            most = most.max(keys.len());
        }
        let bound = (KEPT + KEPT / 2) * SHARDS;
        assert!(
            most < bound,
            "{most} keys are kept, of which two were in use at once"
        );
        assert!(pool.wait_idle(Duration::from_secs(60)));
        sweep_to(keys, 0);
        assert_eq!(kept.submit(|| 7).unwrap().join().unwrap(), 7);
        assert_eq!(
            kept.view_stats().taken,
            1,
            "of what there was before nothing is left"
        );
    }

    /// It is still one of the crowd, which nobody has looked at; nor does a worker, whose clock stands still.
    #[test]
    fn a_key_that_has_had_a_line_goes_too() {
        let clock = Clock::manual();
        let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
        pool.pause();
        for key in 0..100 {
            let key = pool.keyed(key);
            (0..3).for_each(|_| key.execute(|| ()).unwrap());
        }
        pool.resume();
        assert!(pool.wait_idle(Duration::from_secs(60)));
        sweep_to(&pool.engine().keys, 0);
    }

    #[test]
    fn a_key_that_is_asked_for_again_has_one_view() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let (one, two) = (pool.keyed(7), pool.keyed(7));
        assert!(has_same_view(&one, &two) && keys.len() == 1);
        assert!(!has_same_view(&one, &pool.keyed(8)));
        assert!(has_same_view(&one, &one.downgrade().upgrade().unwrap()));
    }

    #[test]
    fn a_key_inside_another_keeps_that_one() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let inner = pool.keyed(1).keyed(2);
        sweep_to(keys, 1);
        assert!(has_same_view(&inner, &pool.keyed(1).keyed(2)));
        assert!(!has_same_view(&inner, &pool.keyed(2)) && !has_same_view(&inner, &pool.keyed(3).keyed(2)));
        drop(inner);
        sweep_to(keys, 0);
    }

    #[test]
    fn a_key_stays_while_something_of_it_waits_is_delayed_or_repeated() {
        let clock = Clock::manual();
        let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
        let keys = &pool.engine().keys;
        let hour = Duration::from_secs(3600);
        let delayed = pool.keyed("delayed").after(hour, || ()).unwrap();
        let schedule = Schedule::every(hour).starting_in(hour);
        let repeated = pool.keyed("repeated").schedule(schedule, |_| ()).unwrap();
        pool.pause();
        let waiting = pool.keyed("waiting").submit(|| ()).unwrap();
        keys.sweep();
        assert_eq!(keys.len(), 3);
        pool.resume();
        waiting.join().unwrap();
        sweep_to(keys, 2);
        assert!(delayed.task_ref().remove());
        drop(delayed);
        sweep_to(keys, 1);
        let _ = repeated.cancel();
        drop(repeated);
        sweep_to(keys, 0);
    }

    #[test]
    fn a_key_has_one_view_at_a_time_whoever_sweeps() {
        const SUBMITTERS: usize = 3;
        const TASKS: usize = 300;
        let pool = Pool::fixed(2).unwrap();
        let keys = &pool.engine().keys;
        // Two steps on purpose: tasks that overlap, or do not see each other, lose some.
        let counts = Arc::new([const { AtomicUsize::new(0) }; SUBMITTERS]);
        let sum = Arc::new(AtomicUsize::new(0));
        let are_done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for submitter in 0..SUBMITTERS {
                let (counts, sum, are_done, pool) = (counts.clone(), sum.clone(), &are_done, &pool);
                scope.spawn(move || {
                    let kept = pool.keyed("one");
                    for number in 0..TASKS {
                        let (counts, sum) = (counts.clone(), sum.clone());
                        let task = kept.submit(move || {
                            let (before, own) = (sum.load(Relaxed), counts[submitter].load(Relaxed));
                            crate::sync::yield_now();
                            sum.store(before + 1, Relaxed);
                            counts[submitter].store(own + 1, Relaxed);
                            own
                        });
                        // Mostly nobody has a task of it, and it goes.
                        assert_eq!(task.unwrap().join().unwrap(), number);
                    }
                    are_done.fetch_add(1, Relaxed);
                });
            }
            while are_done.load(Relaxed) < SUBMITTERS {
                keys.sweep();
            }
        });
        assert_eq!(sum.load(Relaxed), SUBMITTERS * TASKS);
    }
}
