//! Futures beside other runtimes: their input and output inside of futures on a pool of ours, and our handles awaited there.

// The models have no sockets.
#![cfg(not(any(loom, shuttle)))]

use punctual::{JoinError, Pool, Priority, Queue, TaskHandle, future};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Handle, Runtime};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// Only a hang exceeds it.
const LONG: Duration = Duration::from_secs(60);

/// As `join`, and fails instead of hanging.
fn joined<T>(mut task: TaskHandle<T>) -> Result<T, JoinError> {
    task.join_timeout(LONG)
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A pool on whose threads tokio's input and output works.
fn entered(runtime: &Runtime) -> Pool {
    static HANDLES: Mutex<Vec<&'static Handle>> = Mutex::new(Vec::new());
    // A guard borrows its handle, and lives as long as its thread. In sight, so that nobody takes it for lost.
    let handle: &'static Handle = Box::leak(Box::new(runtime.handle().clone()));
    HANDLES.lock().expect("nothing panics under it").push(handle);
    Pool::builder("io")
        .core_threads(2)
        .queue(Queue::priority(1_000))
        .enter(move || handle.enter())
        .build()
        .expect("valid")
}

#[test]
fn a_tokio_round_trip_runs_on_our_pool() -> Outcome {
    let runtime = runtime();
    let pool = entered(&runtime);
    let (tell, told) = channel();
    let server = pool.spawn(async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        tell.send(listener.local_addr()?).expect("the test waits");
        let (mut stream, _) = listener.accept().await?;
        let mut text = [0; 5];
        stream.read_exact(&mut text).await?;
        text.reverse();
        stream.write_all(&text).await?;
        std::io::Result::Ok(std::thread::current().name().map(str::to_owned))
    })?;
    let address = told.recv_timeout(LONG)?;
    let client = pool.at_priority(Priority::URGENT).spawn(async move {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        stream.write_all(b"hello").await?;
        let mut text = [0; 5];
        stream.read_exact(&mut text).await?;
        std::io::Result::Ok(text)
    })?;
    assert_eq!(&joined(client)??, b"olleh");
    let polled_on = joined(server)??.expect("workers have names");
    assert!(polled_on.starts_with("io-"), "{polled_on}");
    assert!(pool.stats().wakes > 0, "tokio's driver has woken them");
    Ok(())
}

#[test]
fn tokios_timers_and_channels_work_on_our_pool() -> Outcome {
    let runtime = runtime();
    let pool = entered(&runtime);
    let (send, mut receive) = tokio::sync::mpsc::channel(1);
    let sender = pool.spawn(async move {
        for number in 0..100_u64 {
            send.send(number).await.expect("somebody receives");
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        future::sleep(Duration::from_millis(1)).await;
    })?;
    let receiver = pool.spawn(async move {
        let mut sum = 0;
        while let Some(number) = receive.recv().await {
            sum += number;
        }
        sum
    })?;
    assert_eq!(joined(receiver)?, 4950);
    joined(sender)?;
    Ok(())
}

#[test]
fn our_handles_are_awaited_in_tokio() -> Outcome {
    let runtime = runtime();
    let pool = Pool::fixed(1)?;
    let (first, second) = (pool.submit(|| 20)?, pool.spawn(async { 22 })?);
    let sum = runtime.block_on(async move {
        let first = tokio::spawn(first);
        let first = tokio::time::timeout(LONG, first).await???;
        Result::<i32, Box<dyn Error + Send + Sync>>::Ok(first + second.await?)
    })?;
    assert_eq!(sum, 42);
    Ok(())
}

#[test]
fn a_spawned_tokio_task_is_awaited_on_our_pool() -> Outcome {
    let runtime = runtime();
    let pool = entered(&runtime);
    let task = pool.spawn(async { tokio::spawn(async { 7 }).await })?;
    assert_eq!(joined(task)??, 7);
    Ok(())
}

#[test]
fn async_io_needs_no_guard() -> Outcome {
    let pool = Pool::fixed(1)?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = pool.spawn(async move {
        let listener = async_io::Async::new(listener)?;
        let (stream, _) = listener.accept().await?;
        let mut text = [0; 5];
        stream
            .read_with(|mut stream| stream.read_exact(&mut text))
            .await?;
        stream.write_with(|mut stream| stream.write_all(&text)).await?;
        std::io::Result::Ok(())
    })?;
    let client = pool.spawn(async move {
        let stream = async_io::Async::<TcpStream>::connect(address).await?;
        stream.write_with(|mut stream| stream.write_all(b"hello")).await?;
        let mut text = [0; 5];
        stream
            .read_with(|mut stream| stream.read_exact(&mut text))
            .await?;
        std::io::Result::Ok(text)
    })?;
    assert_eq!(&joined(client)??, b"hello");
    joined(server)??;
    Ok(())
}
