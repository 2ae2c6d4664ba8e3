//! A client that sends bytes and takes an answer apart, and pools to look at.

use punctual::{Pool, Queue};
use punctual_dash::{Dashboard, DashboardBuilder, Server};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Ends a hang; nothing is expected to take so long.
pub(crate) const LONG: Duration = Duration::from_secs(60);

pub(crate) const TOKEN: &str = "a-token-for-the-tests";

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends these bytes and reads until the other side closes, or has sent what it said it would.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Option<Answer> {
    let mut stream = connect(address);
    // The other side may have had enough before everything is written.
    let _ = stream.write_all(bytes);
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(n) = stream.read(&mut piece) {
        text.extend_from_slice(&piece[..n]);
        if n == 0 || is_whole(&text) {
            break;
        }
    }
    answer(&text)
}

fn is_whole(text: &[u8]) -> bool {
    answer(text).is_some_and(|answer| {
        let length = answer
            .header("content-length")
            .and_then(|length| length.parse().ok());
        length.is_some_and(|length: usize| answer.body.len() >= length)
    })
}

fn answer(text: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(text).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    Some(Answer {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// A request, put together line by line.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

pub(crate) fn get(path: &str) -> Ask {
    Ask {
        method: "GET".into(),
        path: path.into(),
        headers: Vec::new(),
        body: String::new(),
    }
}

/// A change as the page sends it, without the token.
pub(crate) fn post(path: &str, body: &str) -> Ask {
    let mut ask = get(path);
    ask.method = "POST".into();
    ask.body = body.into();
    let ask = if body.is_empty() {
        ask
    } else {
        ask.with("content-type", "application/json")
    };
    ask.with("x-punctual", "1")
}

impl Ask {
    pub(crate) fn with(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Ask {
        self.headers.retain(|(header, _)| header != name);
        self
    }

    pub(crate) fn method(mut self, method: &str) -> Ask {
        self.method = method.into();
        self
    }

    pub(crate) fn token(self) -> Ask {
        self.with("authorization", &format!("Bearer {TOKEN}"))
    }

    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let Ask {
            method,
            path,
            headers,
            body,
        } = self;
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|(name, _)| name == "host") {
            text += &format!("host: {host}\r\n");
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        if method == "HEAD" {
            // Its answer says a length, and sends nothing.
            text += "connection: close\r\n";
        }
        if !body.is_empty() || method == "POST" {
            text += &format!("content-length: {}\r\n", body.len());
        }
        format!("{text}\r\n{body}").into_bytes()
    }

    pub(crate) fn to(&self, server: &Server) -> Answer {
        let host = server.address().to_string();
        send(server.address(), &self.bytes(&host)).expect("an answer")
    }
}

/// A dashboard of the pool, whose token is known.
pub(crate) fn builder(pool: &Pool) -> DashboardBuilder {
    Dashboard::builder().pool(pool.control()).token(TOKEN)
}

pub(crate) fn serve(pool: &Pool) -> Server {
    builder(pool).serve().unwrap()
}

/// One worker, and room for ten tasks.
pub(crate) fn pool(name: &str) -> Pool {
    Pool::builder(name)
        .core_threads(1)
        .max_threads(1)
        .queue(Queue::bounded(10))
        .build()
        .unwrap()
}

/// Looks until it is so.
pub(crate) fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let begin = std::time::Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
