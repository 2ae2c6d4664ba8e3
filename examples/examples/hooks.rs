//! Hooks: around each thread, around each task, and at the end of the pool.

use punctual::{Pool, TaskInfo};
use std::sync::{Arc, Mutex};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let log = Arc::new(Mutex::new(Vec::<String>::new()));
    let note = {
        let log = log.clone();
        move |line: String| log.lock().expect("nobody panics here").push(line)
    };
    let [start, stop, before, after, end] = [(); 5].map(|()| note.clone());

    let pool = Pool::builder("hooks")
        .core_threads(1)
        .thread_name("worker")
        .on_thread_start(move || {
            let thread = std::thread::current();
            start(format!("{} begins", thread.name().unwrap_or("?")));
        })
        .on_thread_stop(move || stop("worker leaves".into()))
        .before_task(move |task: &TaskInfo<'_>| before(format!("before {}", task.label())))
        .after_task(move |task, outcome| after(format!("after {}: {outcome:?}", task.label())))
        .on_terminated(move || end("terminated".into()))
        .build()?;

    pool.task(|| ()).name("load").execute()?;
    pool.task(|| ()).name("save").execute()?;
    assert!(pool.close().terminated);

    let log = log.lock().expect("nobody panicked");
    for line in &*log {
        println!("{line}");
    }
    assert_eq!(
        *log,
        [
            "worker-1 begins",
            "before load",
            "after load: Finished",
            "before save",
            "after save: Finished",
            "worker leaves",
            "terminated",
        ]
    );
    Ok(())
}
