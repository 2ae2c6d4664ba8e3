//! Executors with threads of their own: `blocking`, `reserve`.
//!
//! In: an executor. Out: another one of the same pool whose tasks run on threads beside the pool's. What that means for the
//! pool is in [`annex`](crate::pool).

use super::Executor;
use crate::ConfigError;

impl Executor {
    /// For tasks that block: they run on up to [`blocking_threads`](crate::PoolBuilder::blocking_threads) threads beside
    /// the pool's own, which go on with their tasks meanwhile, however many of these block. The threads start when they are
    /// needed, and leave when they have been idle for the keep-alive time. All calls give the same threads.
    ///
    /// It is part of the pool: closing, stopping, draining and pausing the pool, waiting for it and its statistics include
    /// it. A task that finds all of these threads at work waits; it then counts against the capacity of the pool's queue, and
    /// if that is full the pool's policy answers. One for which a thread is free, or may be started, needs no place there.
    ///
    /// ```
    /// use punctual::Pool;
    /// use std::sync::mpsc::channel;
    ///
    /// let pool = Pool::builder("web").core_threads(1).build()?;
    /// let blocking = pool.blocking()?;
    /// let (tell, told) = channel();
    /// let waits = blocking.submit(move || told.recv().unwrap())?; // blocks its thread,
    /// let sum = pool.submit(|| 2 + 2)?; // and this one runs all the same
    /// tell.send(sum.join()?)?;
    /// assert_eq!(waits.join()?, 4);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    ///
    /// Of a view (a limit, a lane, a key) it gives the same as of its pool: the view's rule is about the pool's own threads, and
    /// does not hold on these. So a lane's task can leave what blocks to them. For a rule that does, make the view of this:
    /// `pool.blocking()?.limit(2)`.
    ///
    /// An error if the pool was built with `blocking_threads(0)`.
    pub fn blocking(&self) -> Result<Executor, ConfigError> {
        let owner = self.share.owner().of_pool();
        let part = Executor::part(owner.engine.blocking()?, owner.clone());
        Ok(part.at_priority_of(self))
    }

    /// `n` threads beside the pool's own, for the tasks of this executor only: they run whatever else the pool is busy
    /// with. Each call gives other threads; they start when they are needed, leave when they have been idle for the
    /// keep-alive time, and are gone for good when the last clone of the executor has been dropped and its tasks have ended.
    ///
    /// It is part of the pool as [`Executor::blocking`] is, and like that has nothing of the rule of a view that it is asked of.
    /// (`limit` is the opposite: it takes a part of the pool's threads,
    /// and adds none.)
    ///
    /// ```
    /// use punctual::Pool;
    ///
    /// let pool = Pool::builder("web").core_threads(2).build()?;
    /// let urgent = pool.reserve(1)?;
    /// let (open, gate) = std::sync::mpsc::channel::<()>();
    /// let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
    /// for _ in 0..100 {
    ///     let gate = gate.clone();
    ///     pool.execute(move || drop(gate.lock().unwrap().recv()))?; // the pool is saturated
    /// }
    /// assert_eq!(urgent.submit(|| "at once")?.join()?, "at once");
    /// drop(open);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    ///
    /// An error if `n` is 0.
    pub fn reserve(&self, n: usize) -> Result<Executor, ConfigError> {
        let owner = self.share.owner().of_pool();
        let reserved = owner.engine.reserve_annex(owner, n)?;
        Ok(Executor::of(reserved).at_priority_of(self))
    }

    fn at_priority_of(self, other: &Executor) -> Executor {
        match other.class.is_given() {
            true => self.at_priority(other.class.priority()),
            false => self,
        }
    }
}
