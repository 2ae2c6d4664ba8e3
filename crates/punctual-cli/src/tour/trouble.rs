//! Work that goes wrong, is not wanted any more, or finds no room.

use super::{Done, HOUR, LONG, ensure, more, step};
use crate::show;
use punctual::{Cancel, Pool, Queue, task};
use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

pub(super) fn panics(out: &mut impl Write, pool: &Pool, failures: &Receiver<String>) -> Done {
    let before = pool.stats().threads_started;
    let error = match pool.submit(|| panic!("no stock (on purpose)"))?.join() {
        Ok(()) => return ensure(false, "a panic comes out of the join"),
        Err(error) => error,
    };
    step(
        out,
        "a panic",
        &format!("stays in its task; the join says: {error}"),
    )?;
    pool.task(|| panic!("no address (on purpose)"))
        .name("ship")
        .execute()?;
    let heard = failures.recv_timeout(LONG)?;
    more(
        out,
        &format!("nobody could read the second one, so the failure sink heard: {heard}"),
    )?;
    ensure(
        pool.stats().threads_started == before,
        "no worker was lost to a panic",
    )
}

pub(super) fn cancel(out: &mut impl Write, pool: &Pool) -> Done {
    // Every worker sleeps for an hour, or until it is asked to stop.
    let (tell, told) = channel();
    let mut running = Vec::new();
    for _ in 0..pool.size().max {
        let tell = tell.clone();
        running.push(pool.submit(move || {
            let _ = tell.send(Instant::now());
            let slept = task::sleep(HOUR);
            let _ = tell.send(Instant::now());
            slept
        })?);
    }
    for _ in &running {
        told.recv_timeout(LONG)?;
    }
    let (held, gone) = channel::<()>();
    let waiting = pool.submit(move || drop(held))?;
    ensure(
        waiting.cancel() == Cancel::Removed,
        "a task that waits can be removed",
    )?;
    ensure(
        gone.try_recv().is_err(),
        "a removed task's closure is dropped at once",
    )?;
    ensure(
        waiting.join().is_err_and(|error| error.is_cancelled()),
        "a removed task's handle says cancelled",
    )?;
    step(
        out,
        "cancel",
        "a waiting task: removed, never starts, what its closure held is gone already",
    )?;
    let asked = Instant::now();
    for task in &running {
        ensure(
            task.cancel() == Cancel::Signalled,
            "a running task is asked to stop",
        )?;
    }
    let mut last = asked;
    for _ in &running {
        last = last.max(told.recv_timeout(LONG)?);
    }
    let line = format!(
        "{} running tasks, asleep for an hour: obeyed their tokens within {}",
        running.len(),
        show::time(last - asked)
    );
    more(out, &line)
}

pub(super) fn full_queue(out: &mut impl Write) -> Done {
    let pool = Pool::builder("small")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .build()?;
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    pool.execute(move || {
        let _ = tell.send(());
        // Ends when the other side is dropped.
        let _ = gate.recv();
    })?;
    told.recv_timeout(LONG)?;
    pool.execute(|| ())?;
    pool.execute(|| ())?;
    let order = String::from("order 4711");
    let refused = match pool.submit(move || order.len()) {
        Ok(_) => return ensure(false, "bounded means bounded"),
        Err(refused) => refused,
    };
    step(out, "a full queue", &format!("{refused}"))?;
    let length = refused.into_task()();
    drop(open);
    ensure(
        pool.close().terminated && length == 10,
        "a refused closure is as good as new",
    )?;
    more(
        out,
        "the closure came back with the order in it, and was run by the caller",
    )
}
