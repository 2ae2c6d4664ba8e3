//! What watching costs the watched: how late timers are while 200 tabs listen and 1000 requests a second are answered, beside
//! how late they are when nobody looks.
//!
//! `cargo run --release -p punctual-dash --example load -- [SECONDS [ROUNDS]]`: phases of so many seconds (20), quiet and loaded
//! in turn, so many times (3). The clients are a process of their own, and less urgent: elsewhere they would have a machine of their own. Exit code 1: the 99th percentile was more than half as
//! much again.

use punctual::{Pool, Schedule};
use punctual_dash::Dashboard;
use std::error::Error;
use std::net::SocketAddr;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

const STREAMS: usize = 200;
const REQUESTS_A_SECOND: u64 = 1_000;
/// Connections that the requests go through, in turn.
const CONNECTIONS: u64 = 10;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, address, seconds] = &arguments[..]
        && first == "--clients"
    {
        // Where there is no such thing they compete with what they measure.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::nice(10);
        let done = clients(address.parse()?, Duration::from_secs_f64(seconds.parse()?))?;
        println!("{} {}", done.frames, done.answers);
        return Ok(ExitCode::SUCCESS);
    }
    let number =
        |index: usize, otherwise: f64| arguments.get(index).map_or(Ok(otherwise), |text| text.parse());
    let (seconds, rounds) = (number(0, 20.0)?, number(1, 3.0)? as usize);
    let mut quiet = Vec::new();
    let mut loaded = Vec::new();
    for _ in 0..rounds {
        quiet.extend(measure(Duration::from_secs_f64(seconds), None)?.0);
        let own = std::env::current_exe()?;
        let (late, done) = measure(Duration::from_secs_f64(seconds), Some(&own))?;
        println!(
            "{} frames and {} answers in {seconds} s",
            done.frames, done.answers
        );
        loaded.extend(late);
    }
    let [quiet, loaded] = [quiet, loaded].map(|mut late| {
        late.sort_unstable();
        let at = |q: f64| late[((late.len() - 1) as f64 * q) as usize];
        (at(0.5), at(0.99), late.len())
    });
    for (name, (half, most, runs)) in [("quiet", quiet), ("loaded", loaded)] {
        println!("{name:<7} late p50 {half:>9.1?}  p99 {most:>9.1?}  of {runs} runs");
    }
    let ratio = loaded.1.as_secs_f64() / quiet.1.as_secs_f64();
    println!("p99 ratio {ratio:.2} (at most 1.5)");
    Ok(if ratio <= 1.5 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the clients got.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    pub(crate) frames: u64,
    pub(crate) answers: u64,
}

/// How late each run of a few quick schedules was. `clients`: this program, to be started for them.
pub(crate) fn measure(time: Duration, clients: Option<&std::path::Path>) -> Outcome<(Vec<Duration>, Done)> {
    let pool = Pool::builder("timed").core_threads(2).build()?;
    let server = Dashboard::builder().pool(pool.control()).serve()?;
    let process = clients.map(|program| {
        Command::new(program)
            .args([
                "--clients",
                &server.address().to_string(),
                &time.as_secs_f64().to_string(),
            ])
            .stdout(Stdio::piped())
            .spawn()
    });
    let late: Arc<Mutex<Vec<Duration>>> = Arc::default();
    for period in [5, 7, 11, 13] {
        let late = Arc::clone(&late);
        pool.schedule(Schedule::every(Duration::from_millis(period)), move |run| {
            let by = run.actual.duration_since(run.scheduled).unwrap_or_default();
            late.lock().unwrap().push(by);
        })?;
    }
    let done = match process {
        Some(process) => {
            let output = process?.wait_with_output()?;
            let text = String::from_utf8(output.stdout)?;
            let mut numbers = text.split_whitespace().map(|number| number.parse());
            let mut next = || {
                numbers
                    .next()
                    .ok_or("the clients said nothing")?
                    .map_err(Box::<dyn Error + Send + Sync>::from)
            };
            Done {
                frames: next()?,
                answers: next()?,
            }
        }
        None => {
            std::thread::sleep(time);
            Done::default()
        }
    };
    drop(pool.stop());
    server.shutdown();
    let late = std::mem::take(&mut *late.lock().unwrap());
    Ok((late, done))
}

/// Listens and asks for so long.
pub(crate) fn clients(address: SocketAddr, time: Duration) -> Outcome<Done> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let until = Instant::now() + time;
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(tokio::spawn(listen(address, until)));
        }
        let mut asking = Vec::new();
        for _ in 0..CONNECTIONS {
            asking.push(tokio::spawn(ask(address, until)));
        }
        let mut done = Done::default();
        for stream in streams {
            done.frames += stream.await??;
        }
        for one in asking {
            done.answers += one.await??;
        }
        Ok(done)
    })
}

/// Sends a request for that path.
async fn send(stream: &TcpStream, address: SocketAddr, path: &str) -> Outcome<()> {
    let text = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        stream.writable().await?;
        match stream.try_write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What has come, in the room there is for it, or nothing when the time is over.
async fn receive<'a>(stream: &TcpStream, until: Instant, room: &'a mut [u8]) -> Outcome<Option<&'a [u8]>> {
    loop {
        match tokio::time::timeout_at(until.into(), stream.readable()).await {
            Ok(ready) => ready?,
            Err(_) => return Ok(None),
        }
        match stream.try_read(room) {
            Ok(0) => return Err("the server hung up".into()),
            Ok(n) => return Ok(Some(&room[..n])),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Counts the frames of one stream.
async fn listen(address: SocketAddr, until: Instant) -> Outcome<u64> {
    let stream = TcpStream::connect(address).await?;
    send(&stream, address, "/api/v1/stream?page=pool&pool=1").await?;
    let (mut frames, mut room) = (0, vec![0; 16 * 1024]);
    while let Some(piece) = receive(&stream, until, &mut room).await? {
        frames += piece.windows(6).filter(|window| window == b"data: ").count() as u64;
    }
    Ok(frames)
}

/// Asks one after the other, its share of what is to be asked in a second.
async fn ask(address: SocketAddr, until: Instant) -> Outcome<u64> {
    let stream = TcpStream::connect(address).await?;
    let mut beat = tokio::time::interval(Duration::from_secs(1) / (REQUESTS_A_SECOND / CONNECTIONS) as u32);
    let (mut answers, mut room) = (0, vec![0; 16 * 1024]);
    while Instant::now() < until {
        beat.tick().await;
        send(&stream, address, "/api/v1/snapshot").await?;
        let mut answer = Vec::new();
        while !is_whole(&answer) {
            match receive(&stream, until, &mut room).await? {
                Some(piece) => answer.extend_from_slice(piece),
                None => return Ok(answers),
            }
        }
        answers += 1;
    }
    Ok(answers)
}

fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    length
        .and_then(|length| length.parse().ok())
        .is_some_and(|length: usize| body.len() >= length)
}
