//! For the fuzz target: any bytes as what a client sends.
//!
//! In: bytes. Out: nothing; whatever they are, nothing panics, an answer is one of HTTP's, none blames the server, and the pool is as
//! it was but for what an allowed request asked. The way is the server's own: the same parser with the same limits, the same routes
//! and guard; only the wire is memory, and time does not pass.

use crate::{Dashboard, server};
use hyper::rt::{Read, ReadBufCursor, Write};
use std::cell::Cell;
use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// What a request must carry to be let in: the seeds have it.
const TOKEN: &str = "a-token-that-the-seeds-know";

/// Answers beyond this are not kept.
const KEPT: usize = 64 * 1024;

/// Steps of a connection: far more than any needs.
const STEPS: usize = 10_000;

struct Scene {
    pool: punctual::Pool,
    dashboard: Dashboard,
}

fn scene() -> &'static Scene {
    static SCENE: OnceLock<Scene> = OnceLock::new();
    SCENE.get_or_init(|| {
        let pool = punctual::Pool::builder("fuzz")
            .core_threads(1)
            .recorder(64)
            .build();
        let pool = pool.expect("these settings are right");
        pool.pause();
        for name in ["one", "two"] {
            let waiting = pool.task(|| ()).name(name).execute();
            waiting.expect("there is room");
        }
        let dashboard = Dashboard::builder()
            .pool(pool.control())
            .hosts(["fuzz"])
            .token(TOKEN)
            .read_only(false)
            .build();
        Scene {
            pool,
            dashboard: dashboard.expect("these settings are right"),
        }
    })
}

/// One connection that sends these bytes and then nothing more. Says the status of the first answer, if there is one.
///
/// # Panics
///
/// If something is wrong: that is what it is for.
#[allow(clippy::must_use_candidate, reason = "a fuzz target has no use for it")]
pub fn request(bytes: &[u8]) -> Option<u16> {
    let scene = scene();
    let state = || {
        let stats = scene.pool.stats();
        (stats.size, stats.paused, stats.queued, stats.cancelled)
    };
    let before = state();
    let mut output = Vec::new();
    let is_over = Cell::new(false);
    {
        let wire = Wire {
            input: bytes,
            output: &mut output,
            is_over: &is_over,
        };
        let connection = server::connection(scene.dashboard.router(), wire, None);
        let woken = Arc::new(Woken(AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&woken));
        let mut connection = pin!(connection);
        let mut steps = 0;
        // A stream does not end by itself. When nothing moves any more the client goes away, and then it is left.
        loop {
            if connection
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
            {
                break;
            }
            if !woken.0.swap(false, Relaxed) && is_over.replace(true) {
                break;
            }
            steps += 1;
            assert!(steps < STEPS, "it does not come to an end");
        }
    }
    let status = check(&output);
    // An allowed request may have resized or resumed it.
    let knows_token = bytes
        .windows(TOKEN.len())
        .any(|window| window == TOKEN.as_bytes());
    assert!(
        knows_token || state() == before,
        "a stranger changed {before:?} to {:?}",
        state()
    );
    assert_eq!(scene.pool.stats().panicked, 0, "nothing that it runs panics");
    status
}

fn check(output: &[u8]) -> Option<u16> {
    // In the version that the client spoke.
    let rest = [b"HTTP/1.1 ", b"HTTP/1.0 "].map(|version| output.strip_prefix(version));
    let Some(rest) = rest.into_iter().flatten().next() else {
        assert!(
            output.is_empty(),
            "an answer of HTTP: {}",
            String::from_utf8_lossy(output)
        );
        return None;
    };
    let status = rest.get(..3).unwrap_or_default();
    assert!(
        status.first() != Some(&b'5') || status == b"503",
        "the client is to blame: {}",
        String::from_utf8_lossy(output)
    );
    std::str::from_utf8(status).ok()?.parse().ok()
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// A client that has said everything already, reads all there is, and then goes away.
struct Wire<'a> {
    input: &'a [u8],
    output: &'a mut Vec<u8>,
    /// It has gone away.
    is_over: &'a Cell<bool>,
}

impl Read for Wire<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.input.is_empty() && !self.is_over.get() {
            return Poll::Pending;
        }
        let (now, later) = self.input.split_at(self.input.len().min(buffer.remaining()));
        buffer.put_slice(now);
        self.input = later;
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let kept = bytes.len().min(KEPT.saturating_sub(wire.output.len()));
        wire.output.extend_from_slice(&bytes[..kept]);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the fuzzer begins with gets through to where it should: the gate knows it without a fuzzer.
    #[test]
    fn fault_35_the_seeds_are_answered() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/request");
        for (seed, status) in [
            ("page", 200),
            ("snapshot", 200),
            ("stream", 200),
            ("tasks", 200),
            ("served", 200),
            ("preview", 200),
            ("resize", 200),
            ("cancel", 200),
            ("session", 401),
            ("chunked", 411),
            ("asset", 404),
        ] {
            let bytes = std::fs::read(format!("{folder}/{seed}")).unwrap();
            assert_eq!(request(&bytes), Some(status), "{seed}");
        }
        // Without the token they change nothing, which is looked at.
        for seed in ["resize", "cancel"] {
            let text = std::fs::read_to_string(format!("{folder}/{seed}")).unwrap();
            assert_eq!(request(text.replace(TOKEN, "x").as_bytes()), Some(401), "{seed}");
        }
        for bytes in [&b""[..], b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", &[0xff; 4096]] {
            request(bytes);
        }
    }

    #[test]
    #[should_panic(expected = "the client is to blame")]
    fn an_answer_that_blames_the_server_is_noticed() {
        check(b"HTTP/1.1 500 Internal Server Error\r\n\r\n");
    }
}
