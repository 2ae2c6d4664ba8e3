//! A handle is a future for any runtime. Here the runtime is ten lines of the standard library.

use punctual::Pool;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(2)?;
    let total = block_on(async {
        let first = pool.submit(|| (1..=10_u64).sum::<u64>())?;
        let second = pool.submit(|| (1..=10_u64).product::<u64>())?;
        Ok::<u64, Box<dyn std::error::Error + Send + Sync>>(first.await? + second.await?)
    })?;
    assert_eq!(total, 55 + 3_628_800);
    println!("awaited two tasks: {total}");
    Ok(())
}
