//! Inside a future: sleep, give up after a while, come back regularly, let others go first.
//!
//! All of it goes by the clock of the executor that polls the future: of the pool it was spawned on, or of the one whose
//! [`block_on`](crate::Executor::block_on) drives it. On a manual clock nothing of it takes any real time.
//! ([`task::sleep`](crate::task::sleep) blocks its thread, these do not.)
//!
//! ```
//! use punctual::{Clock, Pool, future};
//! use std::time::Duration;
//!
//! let clock = Clock::manual();
//! let pool = Pool::builder("p").core_threads(1).clock(&clock).build()?;
//! let slow = pool.spawn(async {
//!     let asked = future::sleep(Duration::from_secs(60));
//!     future::timeout(Duration::from_secs(5), asked).await.is_err()
//! })?;
//! clock.advance(Duration::from_secs(5));
//! assert!(slow.join()?);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # How it is made
//!
//! In: a time. Out: the polling task woken then, by an alarm in the pool's timer store, or by the thread that drives
//! the future itself.

use crate::Timeout;
use crate::sync::Arc;
use crate::task::alarm::{self, Alarm};
use crate::task::home::HomeRef;
use crate::task::{Token, budget, here};
use crate::time::{Clock, Run, Tick, deadline_after};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// Ready when `duration` has passed since its first poll; never earlier.
///
/// # Panics
/// When it is polled by something that is no executor of this library: there is no clock to go by.
pub fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
    Sleep::new(Until::After(duration))
}

/// What `fut` gives, or [`Timeout`] if it is not ready when `duration` has passed since the first poll. The future is
/// dropped with this one.
///
/// # Panics
/// As [`sleep`].
#[allow(clippy::manual_async_fn, reason = "the signature promises `Send`")]
pub fn timeout<Fut: Future + Send>(
    duration: Duration,
    fut: Fut,
) -> impl Future<Output = Result<Fut::Output, Timeout>> + Send {
    async move {
        budget::turn().await;
        let mut fut = pin!(fut);
        let mut over = pin!(Sleep::new(Until::After(duration)));
        poll_fn(|context| {
            // The future first: what is ready in time counts, however late somebody looks.
            if let Poll::Ready(output) = fut.as_mut().poll(context) {
                return Poll::Ready(Ok(output));
            }
            // Not a step: it was taken above, and the future may have left none.
            over.as_mut().poll_time(context).map(|()| Err(Timeout))
        })
        .await
    }
}

/// Lets others go first: ready at its second poll, and the task is in the queue meanwhile, at the end of its level.
///
/// ```
/// use punctual::{Pool, future};
/// let pool = Pool::fixed(1)?;
/// let polite = pool.spawn(async {
///     for _ in 0..1_000 {
///         future::yield_now().await; // whatever waits gets its turn
///     }
/// })?;
/// pool.submit(|| ())?.join()?;
/// polite.join()?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn yield_now() -> impl Future<Output = ()> + Send + 'static {
    let mut has_yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
}

/// Ticks at a fixed rate: the first at once, each next one `period` after the one before was due. (A period of zero is
/// taken for a nanosecond.)
///
/// ```
/// use punctual::{Clock, Pool, future};
/// use std::time::Duration;
///
/// let clock = Clock::manual();
/// let pool = Pool::builder("p").core_threads(1).clock(&clock).build()?;
/// let third = pool.spawn(async {
///     let mut beat = future::interval(Duration::from_secs(1));
///     beat.tick().await;
///     beat.tick().await;
///     beat.tick().await.missed
/// })?;
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(third.join()?, 0);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn interval(period: Duration) -> Interval {
    Interval {
        period: period.max(Duration::from_nanos(1)),
        next: None,
    }
}

/// Made by [`interval`].
#[derive(Debug)]
pub struct Interval {
    period: Duration,
    /// When the next tick is due; the first one is when it is first asked for.
    next: Option<Tick>,
}

impl Interval {
    /// The next tick. Late ones are made up for by one: [`Run::missed`] says how many others were due by then. A tick that is
    /// dropped before it is ready is not lost.
    ///
    /// # Panics
    /// As [`sleep`].
    #[allow(clippy::manual_async_fn, reason = "the signature promises `Send`")]
    pub fn tick(&mut self) -> impl Future<Output = Run> + Send + '_ {
        async move {
            let mut due = self.next;
            let mut wait = None;
            let clock = poll_fn(|context| {
                let clock = clock_here();
                let due = *due.get_or_insert_with(|| clock.tick());
                let wait = wait.get_or_insert_with(|| Sleep::new(Until::At(due)));
                Pin::new(wait).poll(context).map(|()| clock)
            })
            .await;
            let now = clock.tick();
            let due = due.unwrap_or(now);
            let period = Tick::try_from(self.period.as_nanos()).unwrap_or(Tick::MAX);
            let missed = now.saturating_sub(due) / period;
            self.next = Some(due.saturating_add(period.saturating_mul(missed + 1)));
            let actual = clock.now();
            let late = Duration::from_nanos(now.saturating_sub(due));
            Run {
                scheduled: actual.checked_sub(late).unwrap_or(actual),
                actual,
                missed,
                token: here(|here| here.token()).unwrap_or_else(Token::new),
            }
        }
    }
}

/// Where the time comes from that a future sleeps by.
enum Keeper {
    Pool(HomeRef),
    /// The thread that drives the future itself, by the number of its board.
    Thread(u64),
}

impl Keeper {
    /// Whether it is the one of whoever polls now.
    fn is_here(&self) -> bool {
        match (self, alarm::board_number()) {
            (Keeper::Thread(mine), board) => board == Some(*mine),
            (Keeper::Pool(_), Some(_)) => false,
            (Keeper::Pool(mine), None) => here(|here| here.home().is_some_and(|home| home.is_same(mine))),
        }
    }

    fn keep(&self, alarm: &Arc<Alarm>) {
        match self {
            Keeper::Thread(_) => alarm::keep(alarm),
            Keeper::Pool(home) => {
                if let Some(home) = home.upgrade() {
                    home.set_alarm(alarm);
                }
            }
        }
    }
}

/// The keeper and the clock of the executor that polls.
fn keeper_here() -> Option<(Keeper, Clock)> {
    if let Some((number, clock)) = alarm::board() {
        return Some((Keeper::Thread(number), clock));
    }
    here(|here| Some((Keeper::Pool(here.home()?.clone()), here.clock()?.clone())))
}

fn clock_here() -> Clock {
    match keeper_here() {
        Some((_, clock)) => clock,
        None => no_executor(),
    }
}

#[cold]
fn no_executor() -> ! {
    panic!(
        "punctual::future was polled outside of an executor of punctual: there is no clock to go by. Spawn the future on a \
         pool, or drive it by Executor::block_on"
    )
}

#[derive(Clone, Copy)]
enum Until {
    After(Duration),
    At(Tick),
}

/// See [`sleep`].
struct Sleep {
    until: Until,
    state: State,
    was_put_off: bool,
}

enum State {
    New,
    Waiting {
        alarm: Arc<Alarm>,
        keeper: Keeper,
        clock: Clock,
    },
    /// Beyond the horizon of the clock.
    Never,
    Over,
}

impl Sleep {
    fn new(until: Until) -> Self {
        Sleep {
            until,
            state: State::New,
            was_put_off: false,
        }
    }

    fn begin(&mut self) {
        let Some((keeper, clock)) = keeper_here() else {
            no_executor()
        };
        let now = clock.tick();
        let when = match self.until {
            Until::After(duration) => deadline_after(now, duration),
            Until::At(tick) => Some(tick),
        };
        self.state = match when {
            None => State::Never,
            Some(when) if when <= now => State::Over,
            Some(when) => {
                let alarm = Alarm::at(when);
                State::Waiting { alarm, keeper, clock }
            }
        };
    }

    /// Whether somebody else polls it than before, who keeps the time from now on: for as long as was left, by that one's clock.
    /// The old one may be gone, and with it whoever would have called.
    fn follow(&mut self) -> bool {
        let State::Waiting { alarm, keeper, clock } = &self.state else {
            return false;
        };
        if keeper.is_here() {
            return false;
        }
        let left = alarm.when().saturating_sub(clock.tick());
        // Where nobody keeps time, the old one still does.
        let Some((keeper, clock)) = keeper_here() else {
            return false;
        };
        self.end();
        // Another one: the old store may still be at the old one.
        let alarm = Alarm::at(clock.tick().saturating_add(left));
        self.state = State::Waiting { alarm, keeper, clock };
        true
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.as_mut().poll_time(context).is_pending() {
            return Poll::Pending;
        }
        budget::step(context, &mut self.was_put_off)
    }
}

impl Sleep {
    /// Whether the time has come, whatever is left of the [budget].
    fn poll_time(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let is_new = matches!(self.state, State::New);
        if is_new {
            self.begin();
        }
        let is_kept = !is_new && !self.follow();
        if let State::Waiting { alarm, keeper, clock } = &self.state {
            let is_due = clock.tick() >= alarm.when();
            if !is_due && alarm.listen(context.waker()) {
                if !is_kept {
                    keeper.keep(alarm);
                }
                return Poll::Pending;
            }
        }
        if matches!(self.state, State::Never) {
            return Poll::Pending;
        }
        self.end();
        Poll::Ready(())
    }

    fn end(&mut self) {
        let State::Waiting { alarm, keeper, .. } = std::mem::replace(&mut self.state, State::Over) else {
            return;
        };
        alarm.forget();
        if let Keeper::Pool(home) = keeper
            && let Some(home) = home.upgrade()
        {
            home.clear_alarm(&alarm);
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.end();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sleep")
    }
}
