//! Metrics: what a scrape of two pools shows, as text for Prometheus.

use punctual::{Pool, Queue, prometheus};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let web = Pool::builder("web")
        .core_threads(2)
        .queue(Queue::bounded(100))
        .build()?;
    let reports = Pool::builder("reports")
        .core_threads(1)
        .queue(Queue::priority(100))
        .build()?;
    for number in 0..50_u64 {
        web.submit(move || number * number)?.join()?;
    }
    reports.submit(|| ())?.join()?;

    // A control holds no share of its pool: whoever answers scrapes keeps nothing open.
    let controls = [web.control(), reports.control()];
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let server = std::thread::spawn(move || -> std::io::Result<()> {
        let (mut scrape, _) = listener.accept()?;
        let _ = scrape.read(&mut [0; 1024])?;
        let text = prometheus::render(&controls);
        let kind = prometheus::CONTENT_TYPE;
        write!(scrape, "HTTP/1.0 200 OK\r\nContent-Type: {kind}\r\n\r\n{text}")
    });

    let mut scrape = TcpStream::connect(address)?;
    scrape.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut text = String::new();
    scrape.read_to_string(&mut text)?;
    server.join().map_err(|_| "the server panicked")??;

    assert!(text.contains("executor_completed_tasks_total{name=\"web\",outcome=\"finished\"} 50"));
    assert!(text.contains("executor_queued_tasks{name=\"reports\",priority=\"3\"} 0"));
    for line in text
        .lines()
        .filter(|line| line.starts_with("executor_") && !line.contains("_bucket"))
    {
        println!("{line}");
    }
    Ok(())
}
