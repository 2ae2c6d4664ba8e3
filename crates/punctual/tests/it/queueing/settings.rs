//! Bad settings get an error that names the field, the value, the limit and the fix.

use punctual::{ConfigError, MAX_THREADS, OnDrop, Pool, PoolBuilder, Queue};
use std::time::Duration;

fn refused(builder: PoolBuilder) -> ConfigError {
    builder.build().expect_err("this cannot be built")
}

#[test]
fn every_bad_setting_is_refused_with_its_name_value_limit_and_fix() {
    let pool = || Pool::builder("bad");
    let too_many = (MAX_THREADS + 1).to_string();
    let most = MAX_THREADS.to_string();
    let cases: [(PoolBuilder, &str, &str, &str, &str); 10] = [
        (
            pool().max_threads(0),
            "max_threads",
            "0",
            "at least one thread",
            "set max_threads to 1",
        ),
        (
            pool().core_threads(0),
            "core_threads",
            "0",
            "at least one thread",
            "set core_threads to 1",
        ),
        (
            pool().core_threads(3).max_threads(2),
            "core_threads",
            "3",
            "which is 2",
            "raise max_threads",
        ),
        (
            pool().core_threads(2).max_threads(3).queue(Queue::unbounded()),
            "max_threads",
            "3",
            "core_threads (2) would ever start",
            "bound the queue",
        ),
        (
            pool().core_threads(MAX_THREADS + 1),
            "max_threads",
            &too_many,
            &most,
            "smaller number",
        ),
        (
            pool().core_timeout(true).keep_alive(Duration::ZERO),
            "keep_alive",
            "0s",
            "above zero",
            "leave core_timeout off",
        ),
        (
            pool().core_threads(1).spare_threads(MAX_THREADS),
            "spare_threads",
            &most,
            "max_threads is 1",
            "fewer spare threads",
        ),
        (
            pool().stack_size(0),
            "stack_size",
            "0",
            "needs a stack",
            "leave it unset",
        ),
        (
            pool().thread_name("a\0b"),
            "thread_name",
            "\"a\\0b\"",
            "zero byte",
            "remove it",
        ),
        (
            Pool::builder("a\0b"),
            "thread_name",
            "\"a\\0b\"",
            "there is one at 1",
            "the pool's name",
        ),
    ];
    for (builder, field, value, limit, fix) in cases {
        let error = refused(builder);
        assert_eq!(error.field(), field);
        let text = error.to_string();
        assert!(text.starts_with(&format!("{field} = {value}: ")), "{text}");
        let (reason, advice) = text.split_once("; ").expect("a limit and a fix");
        assert!(reason.contains(limit), "{text}");
        assert!(advice.contains(fix), "{text}");
    }
    assert_eq!(Pool::fixed(0).unwrap_err().field(), "max_threads");
    assert_eq!(Pool::fixed(MAX_THREADS + 1).unwrap_err().field(), "max_threads");
}

#[test]
fn settings_at_their_limits_are_accepted_and_start_nothing() {
    let pool = Pool::fixed(MAX_THREADS).unwrap();
    assert_eq!((pool.size().core, pool.size().max), (MAX_THREADS, MAX_THREADS));
    assert_eq!(pool.stats().threads_started, 0, "threads start with tasks");
    let pool = Pool::builder("one")
        .max_threads(1)
        .queue(Queue::bounded(1))
        .on_drop(OnDrop::Stop)
        .build()
        .unwrap();
    assert_eq!(
        (pool.size().core, pool.size().max),
        (1, 1),
        "core follows a smaller max"
    );
    let pool = Pool::builder("").stack_size(64 * 1024).build().unwrap();
    assert_eq!(pool.name(), "");
    assert_eq!(pool.submit(|| 8).unwrap().join().unwrap(), 8);
}
