//! Views by key: tasks with the same key go one after the other.
//!
//! In: a hashed key. Out: the key's view, made when it is first asked for. A view that nobody has, and of which no task is
//! left, is kept for the next of its key: made and unmade for each task it would cost more than the task. Beyond some
//! thousands new keys make room for themselves, each looks at two others; so those that are kept are never many more than
//! were in use at once, and a pool that has been quiet for a while lets go of them. Keys are told apart by 64 bits of a hash with a secret of the pool's own; two keys that meet there share a
//! view, which keeps their order and costs them their independence.

use crate::sync::unmodelled::{AtomicBool, Relaxed};
use crate::sync::{Arc, Lock, Padded};
use crate::task::view::View;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};

/// How many locks share the keys: submitters with different keys rarely meet at one.
const SHARDS: usize = 16;

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
    views: HashMap<u64, Arc<View>, BuildHasherDefault<AsIs>>,
    /// The keys in the order in which they are looked at.
    round: VecDeque<u64>,
}

/// See the module's header.
pub(crate) struct Keys {
    secret: RandomState,
    shards: Box<[Padded<Lock<Shard>>]>,
    /// Whether there may be anything to [`Keys::sweep`], and nobody sees to it.
    is_used: AtomicBool,
}

impl Keys {
    pub(super) fn new() -> Self {
        Keys {
            secret: RandomState::new(),
            shards: (0..SHARDS).map(|_| Padded(Lock::new(Shard::default()))).collect(),
            is_used: AtomicBool::new(false),
        }
    }

    /// The hash of a key inside a view, which has keys of its own.
    pub(crate) fn hash(&self, key: impl Hash, inside: Option<&Arc<View>>) -> u64 {
        let hash = self.secret.hash_one(key);
        match inside {
            None => hash,
            Some(view) => self.secret.hash_one((view.identity(), hash)),
        }
    }

    fn shard(&self, key: u64) -> &Lock<Shard> {
        // The table takes the lowest bits and the highest seven.
        &self.shards[(key >> 48) as usize % SHARDS]
    }

    /// The view of a key, or the one that is made now.
    pub(crate) fn find(&self, key: u64, make: impl FnOnce() -> Arc<View>) -> Arc<View> {
        let mut idle = [const { None }; SWEPT];
        let mut shard = self.shard(key).lock();
        if let Some(view) = shard.views.get(&key) {
            return view.clone();
        }
        self.is_used.store(true, Relaxed);
        let view = make();
        if shard.round.len() > KEPT {
            idle = std::array::from_fn(|_| shard.next_idle());
        }
        shard.views.insert(key, view.clone());
        shard.round.push_back(key);
        drop(shard);
        // Without the lock: a view inside another is that one's share, too.
        drop(idle);
        view
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
        // A share is made by `find`, under this lock, or by somebody who has one: whoever is alone here stays so.
        let is_idle = self
            .views
            .get(&key)
            .is_some_and(|view| Arc::strong_count(view) == 1);
        if is_idle {
            return self.views.remove(&key);
        }
        self.round.push_back(key);
        None
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{KEPT, SHARDS};
    use crate::Pool;
    use std::time::Duration;

    #[test]
    fn a_key_without_tasks_and_without_executors_makes_room() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let kept = pool.keyed("kept");
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
        while keys.len() > 1 {
            // The worker is about to let go of the last one.
            keys.sweep();
            crate::sync::yield_now();
        }
        drop(kept);
        keys.sweep();
        assert_eq!(keys.len(), 0);
    }

    #[test]
    fn a_key_that_is_asked_for_again_has_one_view() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let (one, two) = (pool.keyed(7), pool.keyed(7));
        let same = |one: &crate::Executor, two: &crate::Executor| {
            std::ptr::eq(
                &raw const **one.own_view().unwrap(),
                &raw const **two.own_view().unwrap(),
            )
        };
        assert!(same(&one, &two) && keys.len() == 1);
        assert!(!same(&one, &pool.keyed(8)));
    }
}
