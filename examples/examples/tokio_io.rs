//! tokio's input and output on a pool of ours, under priorities: tokio waits for the sockets, our threads poll.

use punctual::{Pool, Priority, Queue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle};

async fn echo(listener: TcpListener) -> std::io::Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        let mut text = [0; 4];
        stream.read_exact(&mut text).await?;
        stream.write_all(&text).await?;
    }
}

async fn ask(address: std::net::SocketAddr) -> std::io::Result<[u8; 4]> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"ping").await?;
    let mut text = [0; 4];
    stream.read_exact(&mut text).await?;
    Ok(text)
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One thread of tokio's watches the sockets; it runs none of our futures.
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build()?;
    // Each worker holds tokio's guard for its life, so the handle must live as long.
    let io: &'static Handle = Box::leak(Box::new(runtime.handle().clone()));
    let pool = Pool::builder("io")
        .core_threads(2)
        .queue(Queue::priority(1_000))
        .enter(move || io.enter())
        .build()?;
    let listener = pool.block_on(async { io.spawn(TcpListener::bind("127.0.0.1:0")).await })???;
    let address = listener.local_addr()?;
    let server = pool.spawn(echo(listener))?;
    // The reports wait; each poll of a payment goes before theirs.
    let low = pool.at_priority(Priority::LOW);
    let mut reports = Vec::new();
    for _ in 0..10 {
        reports.push(low.spawn(ask(address))?);
    }
    let payment = pool.at_priority(Priority::URGENT).spawn(ask(address))?;
    assert_eq!(&payment.join()??, b"ping");
    for report in reports {
        assert_eq!(&report.join()??, b"ping");
    }
    println!(
        "answered; {} polls, {} wakes",
        pool.stats().polls,
        pool.stats().wakes
    );
    server.cancel();
    Ok(())
}
