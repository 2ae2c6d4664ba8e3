//! Two pools for a whole process: one for work that computes, one for work that blocks.
//!
//! In: the environment, or [`configure`] before the first use. Out: [`cpu`] and [`blocking`], made when they are first asked
//! for, and never closed: who gets an [`Executor`] cannot end its pool. A test can put others in their place
//! ([`substitute`]).
//!
//! | variable | of | default |
//! | --- | --- | --- |
//! | `PUNCTUAL_CPU_THREADS` | [`cpu`] | the cores this process may use, a container's quota included |
//! | `PUNCTUAL_BLOCKING_THREADS` | [`blocking`] | 64, or the cores if there are more |
//! | `PUNCTUAL_BLOCKING_QUEUE` | [`blocking`] | 100 000 waiting tasks |
//!
//! What they give has no verb that ends or changes a pool:
//!
//! ```compile_fail,E0599
//! punctual::global::cpu().shutdown();
//! ```
//!
//! A child made by `fork` has no threads of its parent's: submissions there come back with
//! [`Reason::Forked`](crate::Reason::Forked).

use crate::sync::parallelism;
use crate::sync::unmodelled::{Acquire, AtomicUsize, Release};
use crate::{ConfigError, Executor, Lanes, LanesBuilder, MAX_THREADS, OnDrop, Pool, PoolBuilder, Queue};
use std::env::{VarError, var};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const CPU_THREADS: &str = "PUNCTUAL_CPU_THREADS";
const BLOCKING_THREADS: &str = "PUNCTUAL_BLOCKING_THREADS";
const BLOCKING_QUEUE: &str = "PUNCTUAL_BLOCKING_QUEUE";

/// Threads for what blocks, unless there are more cores.
const DEFAULT_BLOCKING_THREADS: usize = 64;
const DEFAULT_BLOCKING_QUEUE: usize = 100_000;

/// Both, and what stands in for them.
struct Pair {
    cpu: Executor,
    blocking: Executor,
    /// Kept: what is here is never closed.
    _owners: Option<(Pool, Lanes)>,
}

static MADE: OnceLock<Pair> = OnceLock::new();

/// What a test has put in place, the latest last. Each lives as long as the process: references to it are `'static`.
static SUBSTITUTES: Mutex<Vec<&'static Pair>> = Mutex::new(Vec::new());

/// Those that stood in once: references to them were given out for as long as the process lives.
static FORMER: Mutex<Vec<&'static Pair>> = Mutex::new(Vec::new());

/// How many they are: mostly none, and then nobody takes the lock.
static SUBSTITUTED: AtomicUsize = AtomicUsize::new(0);

/// The pool for work that computes: as many threads as cores, an unbounded queue.
///
/// Panics at the first use if the environment asks for something impossible; [`configure`], or [`check`] at the start of a
/// program, say so as an error.
///
/// ```
/// let sum = punctual::global::cpu().submit(|| (1..=100).sum::<u32>())?;
/// assert_eq!(sum.join()?, 5050);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn cpu() -> &'static Executor {
    &pair().cpu
}

/// The pool for work that blocks: threads that come and go, and a bounded queue; see [`Lanes`].
///
/// Panics as [`cpu`].
///
/// ```
/// let text = punctual::global::blocking().submit(|| std::fs::read_to_string("Cargo.toml"))?;
/// assert!(text.join()?.is_ok());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn blocking() -> &'static Executor {
    &pair().blocking
}

/// Sets both up, instead of the environment. Before their first use: later it is an error, and changes nothing.
///
/// ```
/// use punctual::{Lanes, Pool, global};
///
/// let cpu = Pool::builder("cpu").core_threads(2);
/// let blocking = Lanes::builder("blocking").max_threads(16);
/// global::configure(cpu, blocking)?;
/// assert!(global::configure(Pool::builder("cpu"), Lanes::builder("blocking")).is_err());
/// # Ok::<(), punctual::ConfigError>(())
/// ```
pub fn configure(cpu: PoolBuilder, blocking: LanesBuilder) -> Result<(), ConfigError> {
    let too_late = || {
        ConfigError::new(
            "global::configure",
            "called late",
            "the shared pools have been used or configured before",
            "call it once, at the start of the program",
        )
    };
    if MADE.get().is_some() {
        return Err(too_late());
    }
    let pair = Pair::of(cpu.build()?, blocking.build()?);
    MADE.set(pair).map_err(|_| too_late())
}

/// Whether the environment's settings can be used.
///
/// ```
/// punctual::global::check()?;
/// # Ok::<(), punctual::ConfigError>(())
/// ```
pub fn check() -> Result<(), ConfigError> {
    Settings::read(var).map(drop)
}

/// Puts two other executors in the place of the shared pools, for the whole process, until the guard is dropped. For tests:
/// what runs beside it sees them too.
///
/// ```
/// use punctual::{Pool, global};
///
/// let mine = Pool::builder("mine").core_threads(1).build()?;
/// let guard = global::substitute(&mine, &mine);
/// let name = global::cpu().submit(|| std::thread::current().name().map(str::to_owned))?;
/// assert_eq!(name.join()?.as_deref(), Some("mine-1"));
/// drop(guard);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "the others are back when this is dropped"]
pub fn substitute(cpu: &Executor, blocking: &Executor) -> Substitute {
    let pair: &'static Pair = Box::leak(Box::new(Pair {
        cpu: cpu.clone(),
        blocking: blocking.clone(),
        _owners: None,
    }));
    let mut all = substitutes();
    all.push(pair);
    SUBSTITUTED.store(all.len(), Release);
    Substitute(pair)
}

/// Others stand in for the shared pools while this lives; made by [`substitute`].
pub struct Substitute(&'static Pair);

impl fmt::Debug for Substitute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Substitute")
    }
}

impl Drop for Substitute {
    fn drop(&mut self) {
        let mut all = substitutes();
        all.retain(|pair| !std::ptr::eq(*pair, self.0));
        SUBSTITUTED.store(all.len(), Release);
        FORMER.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

fn substitutes() -> MutexGuard<'static, Vec<&'static Pair>> {
    SUBSTITUTES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pair() -> &'static Pair {
    if SUBSTITUTED.load(Acquire) > 0
        && let Some(pair) = substitutes().last()
    {
        return pair;
    }
    MADE.get_or_init(|| match Settings::read(var).and_then(Settings::build) {
        Ok(pair) => pair,
        Err(error) => panic!("the shared pools cannot be made: {error}"),
    })
}

impl Pair {
    fn of(cpu: Pool, blocking: Lanes) -> Self {
        Pair {
            cpu: cpu.executor(),
            blocking: blocking.executor(),
            _owners: Some((cpu, blocking)),
        }
    }
}

/// What the environment says.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    cpu_threads: Option<usize>,
    blocking_threads: Option<usize>,
    blocking_queue: Option<usize>,
}

impl Settings {
    fn read(var: impl Fn(&'static str) -> Result<String, VarError>) -> Result<Self, ConfigError> {
        let number = |name, most| number(name, most, var(name));
        Ok(Settings {
            cpu_threads: number(CPU_THREADS, MAX_THREADS)?,
            blocking_threads: number(BLOCKING_THREADS, MAX_THREADS)?,
            blocking_queue: number(BLOCKING_QUEUE, usize::MAX)?,
        })
    }

    fn build(self) -> Result<Pair, ConfigError> {
        let cores = parallelism();
        let cpu = Pool::builder("global-cpu")
            .core_threads(self.cpu_threads.unwrap_or(cores))
            .queue(Queue::unbounded())
            .on_drop(OnDrop::Detach)
            .build()?;
        let blocking = Lanes::builder("global-blocking")
            .max_threads(
                self.blocking_threads
                    .unwrap_or(DEFAULT_BLOCKING_THREADS.max(cores)),
            )
            .queue_capacity(self.blocking_queue.unwrap_or(DEFAULT_BLOCKING_QUEUE))
            .build()?;
        Ok(Pair::of(cpu, blocking))
    }
}

/// A number from 1 to `most`: whatever is let through here can be built. An empty variable is as none.
fn number(
    name: &'static str,
    most: usize,
    value: Result<String, VarError>,
) -> Result<Option<usize>, ConfigError> {
    let text = match value {
        Ok(text) if text.is_empty() => return Ok(None),
        Err(VarError::NotPresent) => return Ok(None),
        Ok(text) => text,
        Err(VarError::NotUnicode(raw)) => raw.to_string_lossy().into_owned(),
    };
    match text.trim().parse::<usize>() {
        Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
        _ => Err(ConfigError::new(
            name,
            format!("{text:?}"),
            format!("the variable must be a whole number from 1 to {most}"),
            "correct it, or unset it for the default",
        )),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn settings(of: &'static [(&'static str, &'static str)]) -> Result<Settings, ConfigError> {
        Settings::read(|name| {
            let found = of.iter().find(|(each, _)| *each == name);
            found.map_or(Err(VarError::NotPresent), |(_, value)| Ok((*value).to_owned()))
        })
    }

    #[test]
    fn the_environment_sizes_the_shared_pools() {
        let read = settings(&[
            (CPU_THREADS, "3"),
            (BLOCKING_THREADS, " 7 "),
            (BLOCKING_QUEUE, "9"),
        ])
        .unwrap();
        let Pair {
            _owners: Some((cpu, blocking)),
            ..
        } = read.build().unwrap()
        else {
            unreachable!("made from settings")
        };
        assert_eq!(cpu.size().max, 3);
        assert_eq!((blocking.size().max, blocking.remaining_capacity()), (7, 9));
    }

    #[test]
    fn kot_30_work_that_blocks_has_64_threads_or_as_many_as_cores() {
        let cores = parallelism();
        let Pair {
            _owners: Some((cpu, blocking)),
            ..
        } = settings(&[]).unwrap().build().unwrap()
        else {
            unreachable!("made from settings")
        };
        assert_eq!(blocking.size().max, cores.max(64));
        assert_eq!(blocking.remaining_capacity(), DEFAULT_BLOCKING_QUEUE);
        assert_eq!(cpu.size().max, cores);
    }

    #[test]
    fn a_wrong_variable_is_named_with_its_value_and_the_way_out() {
        for wrong in ["0", "-1", "many", "1.5", "18446744073709551616"] {
            let read = Settings::read(|name| match name {
                BLOCKING_QUEUE => Ok(wrong.to_owned()),
                _ => Err(VarError::NotPresent),
            });
            let text = read.unwrap_err().to_string();
            assert!(text.contains(BLOCKING_QUEUE) && text.contains(wrong), "{text}");
            assert!(text.contains("unset it"), "{text}");
        }
        assert_eq!(settings(&[(CPU_THREADS, "")]).unwrap().cpu_threads, None);
    }

    #[test]
    fn what_is_checked_can_be_built() {
        for name in [CPU_THREADS, BLOCKING_THREADS] {
            let of = |threads: usize| {
                Settings::read(|each| match each == name {
                    true => Ok(threads.to_string()),
                    false => Err(VarError::NotPresent),
                })
            };
            let text = of(MAX_THREADS + 1).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains("32767"), "{text}");
            // The rest of what they are built with fits beside the most threads.
            of(MAX_THREADS).and_then(Settings::build).unwrap();
        }
        let most = Settings::read(|name| match name {
            BLOCKING_QUEUE => Ok(usize::MAX.to_string()),
            _ => Err(VarError::NotPresent),
        });
        most.and_then(Settings::build).unwrap();
    }
}
