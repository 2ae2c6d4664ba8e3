//! The task a thread is running, for the code inside it.
//!
//! In: a [`Frame`], entered by a worker once and told of each task. Out: [`current`], [`sleep`], and for the rest of
//! the library [`here`]: where am I. Frames nest: a thread that runs one task inside another (a caller that runs what
//! a full pool refused, a join that runs in place) enters a second frame and finds the first again when it leaves. A
//! nested frame knows the pool of its task, and, from the outermost one, the pool whose worker the thread is.

#![allow(unsafe_code)]

use super::block::Header;
use super::home::HomeRef;
use super::record::Table;
use super::shown::{Running, Shown};
use super::side::next_id;
use super::token::{Cancelled, Token};
use super::view::{ANY_NUMBER, View};
use super::watch::Visible;
use super::{Class, Priority, TaskInfo};
use crate::observe::counters::Counters;
use crate::sync::{Arc, local};
use crate::time::{Clock, Place, Wait, Waked, deadline_after};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::fmt;
use std::ptr::{NonNull, null};
use std::time::Duration;

/// What a thread is running, and for whom.
pub(crate) struct Frame<'a> {
    /// Of the running task.
    home: &'a HomeRef,
    clock: &'a Clock,
    /// Whose worker the thread is, if it is one.
    host: Option<Host<'a>>,
    /// Where others see the running task.
    visible: &'a Visible,
    /// Whether the pool counts the running task as active: it was accepted.
    is_counted: bool,
    /// The frame this one is nested in.
    outer: Cell<*const Frame<'static>>,
    depth: usize,
    /// The running task; of a worker's own frame in its post, where others see it.
    shown: &'a Shown,
    /// Of the running closure.
    class: Cell<Class>,
    /// Whether others are to see a nested frame.
    is_listed: bool,
    token: RefCell<Option<Token>>,
    /// Of a closure, made when asked for; a block's is in its side record.
    id: Cell<Option<u64>>,
    /// Whether the running task asked for its token or its number; most never do.
    asked: Cell<bool>,
    /// Whether its token is somebody else's to find.
    is_adopted: Cell<bool>,
}

/// The worker a thread is.
#[derive(Clone, Copy)]
pub(crate) struct Host<'a> {
    pub(crate) home: &'a HomeRef,
    /// The pool's number, see [`Place::Task`].
    pub(crate) identity: usize,
    /// As that, of the pool to which an annex belongs.
    pub(crate) pool: usize,
    /// For tasks that it runs in place.
    pub(crate) aside: &'a Counters,
    /// To be called before it waits inside a task: gives to others what it keeps.
    pub(crate) give_away: &'a dyn Fn(),
    pub(crate) visible: &'a Visible,
    /// Whether its task blocks, and has said so.
    pub(crate) is_in_section: &'a Cell<bool>,
}

local! {
    /// The pool, and its part, whose watchdog this thread is.
    static WATCHDOG_OF: Cell<Option<(usize, usize)>> = Cell::new(None);
}

/// This thread is the watchdog of a part of a pool while `watch` runs: hooks and drops of the user's that it calls are on one of
/// the pool's own threads.
pub(crate) fn as_watchdog_of<R>(pool: usize, part: usize, watch: impl FnOnce() -> R) -> R {
    WATCHDOG_OF.with(|of| of.set(Some((pool, part))));
    let answer = watch();
    WATCHDOG_OF.with(|of| of.set(None));
    answer
}

pub(crate) fn is_watchdog_of(pool: usize) -> bool {
    WATCHDOG_OF
        .with(Cell::get)
        .is_some_and(|(watched, _)| watched == pool)
}

local! {
    static CURRENT: Cell<*const Frame<'static>> = Cell::new(null());
}

impl<'a> Frame<'a> {
    /// A worker's frame, for all its tasks.
    pub(crate) fn of_worker(host: Host<'a>, clock: &'a Clock) -> Self {
        Frame {
            home: host.home,
            clock,
            host: Some(host),
            visible: host.visible,
            is_counted: true,
            outer: Cell::new(null()),
            depth: 0,
            shown: &host.visible.stage.base,
            class: Cell::new(Class::ROOT),
            is_listed: false,
            token: RefCell::new(None),
            id: Cell::new(None),
            asked: Cell::new(false),
            is_adopted: Cell::new(false),
        }
    }

    /// A frame for one task of `home`'s pool, inside whatever this thread is doing. One that the pool counts is seen where
    /// `visible` is, which is this thread's alone then.
    pub(crate) fn nested(
        outer: Here<'a>,
        home: &'a HomeRef,
        clock: &'a Clock,
        (visible, shown): (&'a Visible, &'a Shown),
        is_counted: bool,
    ) -> Self {
        let (host, depth) = match outer {
            Here::Outside => (None, 0),
            Here::Inside(frame) => (frame.host, frame.depth + 1),
        };
        Frame {
            home,
            clock,
            host,
            visible,
            is_counted,
            outer: Cell::new(null()),
            depth,
            shown,
            class: Cell::new(Class::ROOT),
            is_listed: is_counted,
            token: RefCell::new(None),
            id: Cell::new(None),
            asked: Cell::new(false),
            is_adopted: Cell::new(false),
        }
    }

    /// Makes this the thread's frame while `f` runs.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore<'a>(&'a Frame<'a>);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0.outer.get()));
                if self.0.is_listed {
                    self.0.visible.stage.leave(self.0.shown);
                }
            }
        }
        let outer = CURRENT.with(|current| current.replace(std::ptr::from_ref(self).cast()));
        self.outer.set(outer);
        if self.is_listed {
            self.visible.stage.enter(self.shown);
        }
        let _restore = Restore(self);
        f()
    }

    #[inline]
    pub(crate) fn begin_closure(&self, table: Option<&'static Table>, class: Class) {
        self.class.set(class);
        self.shown.begin_closure(table);
    }

    /// The caller keeps the block's task share until [`Frame::end`], and [hides](Frame::hide) it before anybody else may
    /// be the last to hold one.
    #[inline]
    pub(crate) fn begin_block(&self, block: NonNull<Header>) {
        self.shown.begin_block(block);
    }

    /// The body has ended: others see the task no more. The thread itself is still inside of it.
    #[inline]
    pub(crate) fn hide(&self) {
        self.visible.stage.hide(self.shown);
    }

    #[inline]
    pub(crate) fn end(&self) {
        self.shown.end();
        if self.asked.get() {
            self.forget();
        }
    }

    #[cold]
    fn forget(&self) {
        self.asked.set(false);
        self.id.set(None);
        let mine = self.token.borrow_mut().take();
        let listed = mine.as_ref().filter(|_| !self.is_adopted.take());
        let visible = listed.and_then(|mine| {
            let mut tokens = self.visible.tokens.lock();
            let index = tokens.iter().rposition(|each| each.is_same(mine));
            index.map(|index| tokens.swap_remove(index))
        });
        // Outside the lock: the last owner of a token drops wakers.
        super::contain(|| drop((mine, visible)));
    }

    fn block(&self) -> Option<&Header> {
        match self.shown.running() {
            // SAFETY: between `begin_block` and `end` the runner holds the task's share.
            Running::Block(block) => Some(unsafe { block.as_ref() }),
            Running::Nothing | Running::Closure(_) => None,
        }
    }

    fn is_running(&self, block: &Header) -> bool {
        matches!(self.shown.running(), Running::Block(mine) if std::ptr::eq(mine.as_ptr(), block))
    }

    pub(super) fn clock(&self) -> &Clock {
        self.clock
    }

    pub(super) fn home(&self) -> &HomeRef {
        self.home
    }

    pub(super) fn visible(&self) -> &Visible {
        self.visible
    }

    /// The running task's token, made on first use.
    pub(super) fn token(&self) -> Token {
        if let Some(token) = &*self.token.borrow() {
            return token.clone();
        }
        let token = self.block().map_or_else(Token::new, Header::token);
        self.asked.set(true);
        *self.token.borrow_mut() = Some(token.clone());
        self.visible.tokens.lock().push(token.clone());
        // After the section above: a pool that stops looks into the cell after it has raised its state, so either
        // it found the token there or its state is seen here.
        if self.home.upgrade().is_some_and(|home| home.is_stopping()) {
            token.cancel();
        }
        token
    }

    /// The running task's token; if it has none yet, what is made becomes it, given twice. Only for tasks that nobody holds a
    /// reference to: the block does not know of it; and whoever calls sees to it that a pool that stops finds it.
    fn adopt_token(&self, make: impl FnOnce() -> [Token; 2]) -> Token {
        if let Some(token) = &*self.token.borrow() {
            return token.clone();
        }
        let [mine, token] = make();
        self.asked.set(true);
        self.is_adopted.set(true);
        *self.token.borrow_mut() = Some(mine);
        token
    }

    /// Gives back the half of an adopted token that is the frame's, for the next to adopt. One that has fired stays: whoever asks
    /// after the body has ended sees that.
    fn return_token(&self) -> Option<Token> {
        if !self.is_adopted.get() {
            return None;
        }
        let token = self.token.borrow_mut().take_if(|token| !token.is_cancelled())?;
        self.is_adopted.set(false);
        self.asked.set(self.id.get().is_some());
        Some(token)
    }

    /// What hooks are told of the running task.
    pub(crate) fn info(&self) -> TaskInfo<'_> {
        if let Some(block) = self.block() {
            return block.info();
        }
        let (type_name, class) = match self.shown.running() {
            Running::Closure(Some(table)) => ((table.type_name)(), self.class.get()),
            Running::Closure(None) | Running::Nothing | Running::Block(_) => ("nothing", Class::ROOT),
        };
        let id = self.id.get().unwrap_or_else(|| {
            let id = next_id();
            self.asked.set(true);
            self.id.set(Some(id));
            id
        });
        TaskInfo {
            id,
            name: None,
            type_name,
            priority: class.priority(),
        }
    }
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Here<'a> {
    Outside,
    /// On a worker, inside a task or between two.
    Inside(&'a Frame<'a>),
}

/// Calls `f` with the place it is called from.
pub(crate) fn here<R>(f: impl FnOnce(Here<'_>) -> R) -> R {
    let frame = CURRENT.try_with(Cell::get).unwrap_or(null());
    // SAFETY: `enter` sets the pointer for the time it borrows the frame, on this thread, and `f` returns before.
    match unsafe { frame.as_ref() } {
        Some(frame) => f(Here::Inside(frame)),
        None => f(Here::Outside),
    }
}

/// Whether the caller is inside a task.
pub(crate) fn is_inside() -> bool {
    here(|here| here.is_in_task())
}

impl<'a> Here<'a> {
    pub(crate) fn is_in_task(&self) -> bool {
        match self {
            Here::Outside => false,
            Here::Inside(frame) => !matches!(frame.shown.running(), Running::Nothing),
        }
    }

    /// For a manual clock, and for the question "is this my own worker".
    pub(crate) fn place(&self) -> Place {
        match self.host() {
            None => WATCHDOG_OF
                .with(Cell::get)
                .map_or(Place::Outside, |(_, part)| Place::Task(part)),
            Some(host) => Place::Task(host.identity),
        }
    }

    /// Whose worker this thread is, if it is one.
    pub(crate) fn host(&self) -> Option<Host<'a>> {
        match self {
            Here::Outside => None,
            Here::Inside(frame) => frame.host,
        }
    }

    /// As [`Here::host`], inside a task.
    pub(crate) fn host_of_task(&self) -> Option<Host<'a>> {
        self.host().filter(|_| self.is_in_task())
    }

    /// How many tasks this thread is in the middle of, one inside the other.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Here::Outside => 0,
            Here::Inside(frame) => frame.depth,
        }
    }

    /// The frames of this thread, from the innermost out.
    fn frames(&self) -> impl Iterator<Item = &Frame<'_>> {
        let first = match self {
            Here::Outside => None,
            Here::Inside(frame) => Some(*frame),
        };
        // SAFETY: `enter` noted the frame that was current on this thread, which outlives the one inside it.
        std::iter::successors(first, |frame| unsafe { frame.outer.get().as_ref() })
    }

    /// Whether this thread is in the middle of that task.
    pub(crate) fn is_inside_of(&self, block: &Header) -> bool {
        self.frames().any(|frame| frame.is_running(block))
    }

    /// The blocks, by address, of the tasks this thread is in the middle of.
    pub(crate) fn blocks(&self) -> Vec<usize> {
        let blocks = self.frames().filter_map(|frame| frame.block());
        blocks.map(|block| std::ptr::from_ref(block).addr()).collect()
    }

    /// The engines, by number, of the counted tasks this thread is in the middle of although it is none of their workers.
    pub(crate) fn visits(&self) -> Vec<usize> {
        let host = self.host().map(|host| host.identity);
        let counted = self.frames().filter(|frame| frame.is_counted);
        let homes = counted.map(|frame| frame.home.identity());
        homes.filter(|home| Some(*home) != host).collect()
    }

    /// The views, innermost first for each task, in whose gates the tasks this thread is in the middle of have a slot.
    fn views(&self) -> impl Iterator<Item = Arc<View>> {
        let blocks = self.frames().filter_map(|frame| frame.block());
        // One that was claimed without its slots is a part of another.
        let with_slots = blocks.filter(|block| !block.state.load().is_parked());
        let views = with_slots.filter_map(|block| block.view().map(|view| Arc::clone(&view)));
        views.flat_map(|view| view.chain().cloned().collect::<Vec<_>>())
    }

    /// The gates, by address, in which this thread's tasks have a slot.
    pub(crate) fn slots(&self) -> Vec<usize> {
        let limited = self.views().filter(|view| view.limit() != ANY_NUMBER);
        limited.map(|view| view.identity()).collect()
    }

    /// Whether this thread's tasks have a slot in each gate of this view.
    pub(crate) fn has_slots_of(&self, view: &Arc<View>) -> bool {
        let mine: HashSet<usize> = self.views().map(|view| view.identity()).collect();
        view.chain().all(|view| mine.contains(&view.identity()))
    }

    /// Whether a task that this thread is in the middle of is one of this view's.
    pub(crate) fn is_in_view(&self, view: &Arc<View>) -> bool {
        let mut blocks = self.frames().filter_map(|frame| frame.block());
        blocks.any(|block| block.view().is_some_and(|mine| mine.is_inside_of(view)))
    }

    /// The block of the task that calls, which holds its share while it runs.
    pub(crate) fn block(&self) -> Option<NonNull<Header>> {
        match self {
            Here::Outside => None,
            Here::Inside(frame) => frame.block().map(NonNull::from),
        }
    }

    /// The view of the task that calls.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        match self {
            Here::Outside => None,
            Here::Inside(frame) => frame.block()?.view().map(|view| Arc::clone(&view)),
        }
    }

    /// How many tasks that this home counts as active the thread is in the middle of.
    pub(crate) fn tasks_of(&self, home: &HomeRef) -> u64 {
        let mine = |frame: &&Frame<'_>| {
            let is_running = !matches!(frame.shown.running(), Running::Nothing);
            is_running && frame.is_counted && std::ptr::eq(frame.home, home)
        };
        self.frames().filter(mine).count() as u64
    }

    /// What the task that calls is, if it is one of a home for which this holds.
    pub(crate) fn class_in(&self, is_home: impl FnOnce(&HomeRef) -> bool) -> Option<Class> {
        let frame = match self {
            Here::Inside(frame) if is_home(frame.home) => frame,
            _ => return None,
        };
        match frame.shown.running() {
            Running::Nothing => None,
            Running::Closure(_) => Some(frame.class.get()),
            Running::Block(_) => frame
                .block()
                .map(|block| block.class.inheriting(block.priority())),
        }
    }

    /// The token of the task that calls, a run of a schedule; if it has none yet, what is made becomes it, given twice, and the
    /// schedule is who tells it to stop.
    pub(crate) fn adopt_token(&self, make: impl FnOnce() -> [Token; 2]) -> Token {
        match self {
            Here::Inside(frame) if self.is_in_task() => frame.adopt_token(make),
            _ => {
                let [token, _] = make();
                token
            }
        }
    }

    /// What was adopted, one of the two, if it may be the token of the next run: the body of this one has ended.
    pub(crate) fn return_token(&self) -> Option<Token> {
        match self {
            Here::Inside(frame) => frame.return_token(),
            Here::Outside => None,
        }
    }

    /// The token of the task that calls, which interrupts its waits.
    pub(crate) fn token(&self) -> Option<Token> {
        match self {
            Here::Inside(frame) if self.is_in_task() => Some(frame.token()),
            _ => None,
        }
    }

    pub(crate) fn is_running(&self, block: &Header) -> bool {
        match self {
            Here::Outside => false,
            Here::Inside(frame) => frame.is_running(block),
        }
    }

    pub(crate) fn clock(&self) -> Option<&Clock> {
        match self {
            Here::Outside => None,
            Here::Inside(frame) => Some(frame.clock),
        }
    }

    pub(crate) fn home(&self) -> Option<&HomeRef> {
        match self {
            Here::Inside(frame) if self.is_in_task() => Some(frame.home),
            _ => None,
        }
    }
}

impl fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame")
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// The task that is running on this thread.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let named = pool.task(|| punctual::task::current().unwrap().name().map(str::to_owned)).name("nightly").submit()?;
/// assert_eq!(named.join()?.as_deref(), Some("nightly"));
/// assert!(punctual::task::current().is_none()); // outside
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn current() -> Option<CurrentTask> {
    here(|here| match here {
        Here::Inside(frame) if here.is_in_task() => {
            let info = frame.info();
            Some(CurrentTask {
                id: info.id,
                name: info.name.map(str::to_owned),
                priority: info.priority,
                token: frame.token(),
            })
        }
        _ => None,
    })
}

/// Blocks for `d` on the pool's clock, or until the task is told to stop: then `Err`. Outside a task it just sleeps.
///
/// ```
/// use std::time::Duration;
/// let pool = punctual::Pool::fixed(1)?;
/// let task = pool.submit(|| punctual::task::sleep(Duration::from_secs(3600)))?;
/// while pool.stats().active == 0 {
///     std::thread::yield_now();
/// }
/// task.cancel(); // the sleep ends now
/// assert!(task.join().unwrap_err().is_cancelled());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn sleep(d: Duration) -> Result<(), Cancelled> {
    here(|here| {
        let token = here.token().unwrap_or_default();
        let system = Clock::system();
        let clock = match here {
            Here::Inside(frame) => frame.clock,
            Here::Outside => &system,
        };
        let wait = Wait {
            word: token.word(),
            mask: Token::FIRED,
            expected: 0,
            interrupt: None,
            deadline: deadline_after(clock.tick(), d),
        };
        match clock.wait(&wait, here.place()) {
            Waked::TimedOut => Ok(()),
            Waked::Ready | Waked::Interrupted => Err(Cancelled),
        }
    })
}

/// What [`current`] tells about the running task.
#[derive(Debug, Clone)]
pub struct CurrentTask {
    id: u64,
    name: Option<String>,
    priority: Priority,
    token: Token,
}

impl CurrentTask {
    /// Unique in the process; says nothing about order.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }
    /// The name it was submitted with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// The priority it was submitted with.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.priority
    }
    /// Fires when the task is asked to stop.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token.clone()
    }
}
