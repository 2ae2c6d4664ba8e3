//! Views by key: tasks with the same key go one after the other.
//!
//! In: a hashed key. Out: the key's view, made when it is first asked for and gone when nobody has it and no task of it is
//! left. Keys are told apart by 64 bits of a hash with a secret of the pool's own; two keys that meet there share a
//! view, which keeps their order and costs them their independence.

use crate::sync::{Arc, Lock, Padded, Weak};
use crate::task::view::View;
use std::collections::HashMap;
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

type Shard = HashMap<u64, Weak<View>, BuildHasherDefault<AsIs>>;

/// See the module's header.
pub(crate) struct Keys {
    secret: RandomState,
    shards: Box<[Padded<Lock<Shard>>]>,
}

impl Keys {
    pub(super) fn new() -> Self {
        Keys {
            secret: RandomState::new(),
            shards: (0..SHARDS).map(|_| Padded(Lock::new(Shard::default()))).collect(),
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
        let mut shard = self.shard(key).lock();
        if let Some(view) = shard.get(&key).and_then(Weak::upgrade) {
            return view;
        }
        let view = make();
        shard.insert(key, Arc::downgrade(&view));
        view
    }

    /// A view is gone; its key may have another by now.
    pub(super) fn forget(&self, key: u64, view: usize) {
        let mut shard = self.shard(key).lock();
        if shard.get(&key).is_some_and(|other| other.as_ptr().addr() == view) {
            shard.remove(&key);
            if shard.len() * 8 < shard.capacity() && shard.capacity() > 1024 {
                let kept = shard.len() * 2;
                shard.shrink_to(kept);
            }
        }
    }

    /// How many keys have a view now.
    #[cfg(all(test, not(any(loom, shuttle))))]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use crate::Pool;
    use std::time::Duration;

    #[test]
    fn a_key_without_tasks_and_without_executors_is_gone() {
        let pool = Pool::fixed(1).unwrap();
        let keys = &pool.engine().keys;
        let kept = pool.keyed("kept");
        for key in 0..10_000 {
            pool.keyed(key).execute(|| ()).unwrap();
        }
        assert!(pool.wait_idle(Duration::from_secs(60)));
        let task = pool.keyed("last").submit(|| ()).unwrap();
        task.join().unwrap();
        while keys.len() > 1 {
            // The worker is about to let go of the last one.
            crate::sync::yield_now();
        }
        drop(kept);
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
