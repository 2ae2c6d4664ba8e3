//! The same threads under a rule: `limit`, `named`, `sequential`, `keyed`, `lane`.
//!
//! In: an executor. Out: another one on the same pool, whose tasks keep to the rule as well. Views are cheap, can be made
//! inside each other, and need no end: one that nobody has and that has no task is gone.

use super::Executor;
use crate::ConfigError;
use crate::lane::Lane;
use crate::observe::ViewStats;
use crate::pool::keys::Key;
use crate::sync::Arc;
use crate::task::view::{ANY_NUMBER, Kind, Plan, View};
use crate::worker::spare::Passage;
use std::borrow::Cow;
use std::hash::Hash;

impl Executor {
    /// The same threads, at most `n` at a time. Its tasks wait in a line of their own, hold their places in the pool's
    /// queue, and are first in, first out. It never has more than the pool (or the view it is made of) has; if
    /// that changes its size, `n` stays. It limits and reserves nothing: others use the threads while it is quiet.
    ///
    /// `Err`: `n` is 0.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(8)?;
    /// let database = pool.limit(2)?; // two connections
    /// let rows: usize = database.all((0..10).map(|n| move || n))?.into_iter().flatten().sum();
    /// assert_eq!(rows, 45);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn limit(&self, n: usize) -> Result<Executor, ConfigError> {
        if n == 0 {
            return Err(ConfigError::new(
                "limit",
                0,
                "a view that runs nothing would keep its tasks for ever",
                "give 1 or more; to hold a whole pool back use Pool::pause",
            ));
        }
        let name = format!("{}/limit({n})", self.view_name());
        // A pool has fewer threads than that.
        let limit = u32::try_from(n).unwrap_or(ANY_NUMBER);
        Ok(self.shown(Kind::Limit, limit, name.into()))
    }

    /// The same place under a name of its own, `{this}/{name}`, under which statistics show it.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(2).build()?;
    /// let mail = pool.named("mail");
    /// mail.submit(|| ())?.join()?;
    /// assert_eq!(&*pool.stats().views[0].name, "web/mail");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn named(&self, name: impl Into<Arc<str>>) -> Executor {
        let name: Arc<str> = name.into();
        self.shown(
            Kind::Named,
            ANY_NUMBER,
            format!("{}/{name}", self.view_name()).into(),
        )
    }

    /// The same threads, one task at a time, in the order of submission: each sees what the one before it did. Not one
    /// thread (two tasks may run on two), and not a lock: what a task leaves to others goes on beside the next.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(4)?;
    /// let log = pool.sequential();
    /// let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    /// for n in 0..100 {
    ///     let lines = lines.clone();
    ///     log.execute(move || lines.lock().unwrap().push(n))?;
    /// }
    /// drop((log, pool)); // the last owners: waits for all
    /// assert!(lines.lock().unwrap().is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn sequential(&self) -> Executor {
        self.unshown(Kind::Sequential, ANY_NUMBER)
    }

    /// As [`Executor::sequential`], one for each key: tasks with the same key go one after the other, in the order of
    /// submission; those with different keys do not wait for each other. An executor of a key costs nothing and may be kept; a
    /// key that has no task makes room for others, and is gone when the pool has been quiet for some seconds, with what
    /// [`Executor::view_stats`] says of it. (Keys are told apart by a 64-bit hash; two that collide share an order.)
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(4)?;
    /// for (account, amount) in [(7, 100), (9, 20), (7, -30)] {
    ///     pool.keyed(account).execute(move || println!("{account}: {amount:+}"))?; // 100 before -30
    /// }
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn keyed<K: Hash>(&self, key: K) -> Executor {
        let inside = match self.key {
            None => self.view.clone(),
            // A key inside another: that one's view.
            Some(_) => self.own_view().map(Cow::into_owned),
        };
        let key = self.engine().keys.hash(key, inside.as_ref());
        self.under(inside, Some(key))
    }

    /// An ordered line of tasks that never overlap, as [`Executor::sequential`], which can be disposed of.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(4)?;
    /// let session = pool.lane();
    /// session.execute(|| println!("hello"))?;
    /// session.execute(|| println!("goodbye"))?;
    /// assert!(session.close_timeout(std::time::Duration::from_secs(10)));
    /// assert!(session.execute(|| ()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn lane(&self) -> Lane {
        Lane::of(self.unshown(Kind::Lane, ANY_NUMBER))
    }

    /// As [`Executor::lane`], with room for `cap` waiting tasks, beside the pool's own bound. A task for which there is
    /// no room comes back at once as [`Reason::Full`](crate::Reason::Full), whatever the pool's policy: that answers a
    /// full pool. What waits for room instead of being refused ([`Executor::all`], [`Executor::any`],
    /// [`Executor::scope`]), and what was delayed and has come due, does not mind the bound.
    ///
    /// `Err`: `cap` is 0, or above four thousand million.
    pub fn lane_bounded(&self, cap: usize) -> Result<Lane, ConfigError> {
        let places = u32::try_from(cap)
            .ok()
            .filter(|places| (1..ANY_NUMBER).contains(places));
        let Some(places) = places else {
            return Err(ConfigError::new(
                "lane_bounded",
                cap,
                format!("a lane has room for 1 to {} waiting tasks", ANY_NUMBER - 1),
                "give a number in that range, or use lane() for one without a bound",
            ));
        };
        Ok(Lane::of(self.unshown(Kind::Lane, places)))
    }

    /// How this view is doing; how the pool is, if it is none.
    #[must_use]
    pub fn view_stats(&self) -> ViewStats {
        match self.own_view() {
            Some(view) => self.engine().stats_of_view(&view, self.engine().clock.tick()),
            None => self.engine().stats().as_view(self.engine().name.clone()),
        }
    }

    /// The same pool under another view.
    pub(crate) fn in_view(&self, view: Arc<View>) -> Executor {
        self.under(Some(view), None)
    }

    /// The same pool under another view, or a key.
    pub(super) fn under(&self, view: Option<Arc<View>>, key: Option<Key>) -> Executor {
        Executor {
            view,
            key,
            class: self.class.viewed(),
            plain_generation: u32::MAX,
            share: self.share.clone(),
        }
    }

    /// The gates that its tasks have to pass.
    pub(crate) fn passages(&self) -> Vec<Passage> {
        self.own_view().map_or_else(Vec::new, |view| Passage::all(&view))
    }

    fn view_name(&self) -> Arc<str> {
        match self.own_view() {
            Some(view) => self.engine().name_of_view(&view),
            None => self.engine().name.clone(),
        }
    }

    fn view(&self, kind: Kind, limit: u32, cap: u32, name: Option<Arc<str>>) -> Arc<View> {
        let plan = Plan {
            kind,
            limit,
            cap,
            name,
        };
        let inside = self.own_view().map(Cow::into_owned);
        View::new(self.engine().home.clone(), inside, plan)
    }

    fn shown(&self, kind: Kind, limit: u32, name: Arc<str>) -> Executor {
        let view = self.view(kind, limit, ANY_NUMBER, Some(name));
        self.engine().show_view(&view);
        self.in_view(view)
    }

    fn unshown(&self, kind: Kind, cap: u32) -> Executor {
        self.in_view(self.view(kind, 1, cap, None))
    }
}
