//! Every mix of body, cancel, handle and pool, checked against a small model of what must come out.
//!
//! Each mix is one task with a life in three stages: it waits behind a held worker, it runs, it has ended. Cancels and
//! the pool's end come at a stage. Gates and a manual clock lead through the stages; nothing sleeps.

/// One mix, played.
mod scene;

use crate::support::in_time;
use punctual::{Cancel, Status};
use scene::Scene;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Body {
    Returns,
    Panics,
    /// Sleeps for an hour on the pool's clock, or until its token fires; then returns.
    WaitsForToken,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    Never,
    BeforeStart,
    WhileRunning,
    AfterEnd,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Handle {
    Joined,
    TimedOutThenJoined,
    Awaited,
    DroppedBefore,
    DroppedAfter,
    OnlyRefLeft,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Stays,
    Stop(When),
    Close,
}

const BODIES: [Body; 3] = [Body::Returns, Body::Panics, Body::WaitsForToken];
const CANCELS: [When; 4] = [When::Never, When::BeforeStart, When::WhileRunning, When::AfterEnd];
const HANDLES: [Handle; 6] = [
    Handle::Joined,
    Handle::TimedOutThenJoined,
    Handle::Awaited,
    Handle::DroppedBefore,
    Handle::DroppedAfter,
    Handle::OnlyRefLeft,
];
const ENDS: [End; 5] = [
    End::Stays,
    End::Stop(When::BeforeStart),
    End::Stop(When::WhileRunning),
    End::Stop(When::AfterEnd),
    End::Close,
];

/// Whether the pool has a manual clock. One that has describes each task before and after; without, a task's result
/// and its share of the memory go in one step: two ways through the runner.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Time {
    System,
    Manual,
}

#[derive(Debug, Clone, Copy)]
struct Mix {
    time: Time,
    body: Body,
    cancel: When,
    handle: Handle,
    end: End,
}

/// What must come out.
#[derive(Debug, PartialEq)]
struct Outcome {
    cancel: Option<Cancel>,
    /// What the handle, or the last reference, says in the end.
    status: Status,
    /// Finished, panicked, cancelled, returned.
    counted: [u64; 4],
    started: bool,
    /// How often the failure sink is called.
    unread: usize,
}

impl Mix {
    /// On the system's clock nobody can let the hour pass.
    fn is_possible(self) -> bool {
        let expected = self.expected();
        let wakes = expected.cancel == Some(Cancel::Signalled) || self.end == End::Stop(When::WhileRunning);
        self.time == Time::Manual || self.body != Body::WaitsForToken || !expected.started || wakes
    }

    /// The specification, in one place.
    fn expected(self) -> Outcome {
        let Mix {
            body,
            cancel,
            handle,
            end,
            ..
        } = self;
        let removed = cancel == When::BeforeStart;
        // The cancel comes first where both come at the same stage.
        let returned = !removed && end == End::Stop(When::BeforeStart);
        let started = !removed && !returned;
        let signalled = started && cancel == When::WhileRunning;
        let answer = match cancel {
            When::Never => None,
            When::BeforeStart => Some(Cancel::Removed),
            When::WhileRunning if started => Some(Cancel::Signalled),
            When::WhileRunning | When::AfterEnd => Some(Cancel::TooLate),
        };
        let status = if removed || signalled {
            Status::Cancelled
        } else if returned {
            Status::Returned
        } else if body == Body::Panics {
            Status::Panicked
        } else {
            Status::Finished
        };
        let counted = match status {
            Status::Finished => [1, 0, 0, 0],
            Status::Panicked => [0, 1, 0, 0],
            Status::Cancelled => [0, 0, 1, 0],
            _ => [0, 0, 0, 1],
        };
        let read = matches!(
            handle,
            Handle::Joined | Handle::TimedOutThenJoined | Handle::Awaited
        );
        Outcome {
            cancel: answer,
            status,
            counted,
            started,
            unread: usize::from(status == Status::Panicked && !read),
        }
    }
}

impl Outcome {
    fn answered(&self, answer: Cancel) -> bool {
        self.cancel == Some(answer)
    }
}

#[test]
fn every_mix_of_body_cancel_handle_and_end_comes_out_as_specified() {
    let mut played = 0;
    for body in BODIES {
        for cancel in CANCELS {
            for handle in HANDLES {
                for end in ENDS {
                    for time in [Time::System, Time::Manual] {
                        played += usize::from(play(Mix {
                            time,
                            body,
                            cancel,
                            handle,
                            end,
                        }));
                    }
                }
            }
        }
    }
    assert!(played > 600, "only {played} mixes were possible");
}

fn play(mix: Mix) -> bool {
    if mix.is_possible() {
        let played = std::panic::catch_unwind(|| in_time(move || Scene::new(mix).play()));
        assert!(played.is_ok(), "{mix:?}: expected {:?}", mix.expected());
    }
    mix.is_possible()
}
