//! tokio's input and output on a pool of ours, under priorities: tokio waits for the sockets, our threads poll, the urgent first.

use punctual::{Pool, Priority, Queue};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

const REPORTS: usize = 10;

/// A server elsewhere: reads all questions, and answers when it is told to.
async fn serve(
    listener: TcpListener,
    all_asked: oneshot::Sender<()>,
    go: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    let mut streams = Vec::new();
    for _ in 0..=REPORTS {
        let (mut stream, _) = listener.accept().await?;
        let mut text = [0; 4];
        stream.read_exact(&mut text).await?;
        streams.push((stream, text));
    }
    let _ = all_asked.send(());
    let _ = go.await;
    for (stream, text) in &mut streams {
        stream.write_all(text).await?;
    }
    Ok(())
}

/// Asks, and notes when it has its answer.
async fn ask(
    address: std::net::SocketAddr,
    name: &'static str,
    order: Arc<Mutex<Vec<&'static str>>>,
) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"ping").await?;
    let mut text = [0; 4];
    stream.read_exact(&mut text).await?;
    assert_eq!(&text, b"ping");
    order.lock().unwrap().push(name);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One thread of tokio's watches the sockets, and runs the server; it runs none of our futures.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build()?;
    // Each worker holds tokio's guard for its life, so the handle must live as long.
    let io: &'static Handle = Box::leak(Box::new(runtime.handle().clone()));
    let pool = Pool::builder("io")
        .core_threads(1)
        .queue(Queue::priority(1_000))
        .enter(move || io.enter())
        .build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let (asked, all_asked) = oneshot::channel();
    let (answer, go) = oneshot::channel();
    let server = runtime.spawn(serve(listener, asked, go));

    let order = Arc::new(Mutex::new(Vec::new()));
    let low = pool.at_priority(Priority::LOW);
    let mut asking = Vec::new();
    for _ in 0..REPORTS {
        asking.push(low.spawn(ask(address, "report", order.clone()))?);
    }
    let urgent = pool.at_priority(Priority::URGENT);
    asking.push(urgent.spawn(ask(address, "payment", order.clone()))?);
    pool.block_on(all_asked)??;
    while pool.stats().suspended < asking.len() {
        std::thread::yield_now();
    }

    // While nothing is taken every answer comes, and wakes its future.
    pool.pause();
    let before = pool.stats().wakes;
    let _ = answer.send(());
    while pool.stats().wakes < before + asking.len() as u64 {
        std::thread::yield_now();
    }
    pool.resume();
    for each in asking {
        each.join()??;
    }
    runtime.block_on(server)??;

    let order = order.lock().unwrap();
    println!("answered: {}", order.join(", "));
    assert_eq!(order[0], "payment", "asked last, and its poll goes first");
    println!("{} polls, {} wakes", pool.stats().polls, pool.stats().wakes);
    Ok(())
}
