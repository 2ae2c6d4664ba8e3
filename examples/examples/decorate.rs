//! Context propagation: what a submitter has in its thread-locals, its tasks have too.

use punctual::Pool;
use std::cell::RefCell;

thread_local!(static REQUEST: RefCell<String> = RefCell::default());

fn request() -> String {
    REQUEST.with_borrow(String::clone)
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("web")
        .core_threads(1)
        .decorate(request, |captured, run| {
            let before = REQUEST.replace(std::mem::take(captured));
            run();
            REQUEST.set(before);
        })
        .build()?;

    // Captured when it is submitted, not when it runs.
    REQUEST.set("request 17".into());
    let first = pool.submit(request)?;
    REQUEST.set("request 18".into());
    let second = pool.submit(request)?;
    REQUEST.take();
    assert_eq!(first.join()?, "request 17");
    assert_eq!(second.join()?, "request 18");

    // It covers every way to submit, and a task's own tasks.
    REQUEST.set("request 19".into());
    let mut scoped = String::new();
    pool.scope(|s| s.execute(|| scoped = request()));
    let inherited = pool.submit(|| {
        let here = punctual::task::current_executor().expect("this is a task");
        here.submit(request)
    })?;
    assert_eq!(scoped, "request 19");
    assert_eq!(inherited.join()??.join()?, "request 19");

    // And nothing stays behind on the worker.
    REQUEST.take();
    assert_eq!(pool.submit(request)?.join()?, "");
    println!("scoped: {scoped}");
    Ok(())
}
