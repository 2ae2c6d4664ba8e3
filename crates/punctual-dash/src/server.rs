//! The stand-alone server: one thread, one small runtime, and limits on everything a stranger can make it hold.
//!
//! In: a router's parts and a bound address. Out: a [`Server`], which ends it. Per connection: 16 KiB for a request's head,
//! ten seconds to send it (also between two requests), the body's limits of `routes/input.rs`, and [`crate::timed`] for the
//! way back. Connections beyond the limit are closed when they arrive: who is there already is not disturbed.

use crate::access::Hosts;
use crate::dashboard::{Shared, WayIn};
use crate::timed::Timed;
use crate::{DashError, courtesy};
use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

/// For the line, the headers and what lies between: browsers send about one.
const HEAD_BYTES: usize = 16 * 1024;

/// To send them in.
const HEAD_TIME: Duration = Duration::from_secs(10);

/// Clients that may wait to be accepted: with the usual 128 a crowd makes everybody else wait for a second.
const BACKLOG: u32 = 1024;

/// What a connection gets to finish its answer when the server ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// When the system gives no more descriptors, or a client has gone before it was served.
const AFTER_ERROR: Duration = Duration::from_millis(50);

/// A running dashboard. It ends with [`Server::shutdown`], or when this is dropped.
///
/// ```
/// let pool = punctual::Pool::fixed(2)?;
/// let server = punctual_dash::Dashboard::builder().pool(pool.control()).serve()?;
/// assert!(server.address().ip().is_loopback());
/// println!("{}", server.url()); // http://127.0.0.1:../?token=..
/// server.shutdown();
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "dropping it ends the server"]
pub struct Server {
    address: SocketAddr,
    url: String,
    token: String,
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// Binds as the standard library does, with more room for those who come at once.
fn listen(bind: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if bind.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Not on Windows, where it would let two servers share an address.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(bind)?;
    socket.listen(BACKLOG)
}

impl Server {
    pub(crate) fn start(
        shared: Arc<Shared>,
        bind: SocketAddr,
        connections: usize,
    ) -> Result<Server, DashError> {
        let unbound = |error: std::io::Error| {
            let help = "choose another address, or port 0 for any that is free";
            DashError::new("bind", bind, error.to_string(), help).caused(error)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(unbound)?;
        let listener = {
            let _inside = runtime.enter();
            listen(bind).map_err(unbound)?
        };
        let address = listener.local_addr().map_err(unbound)?;
        let (end, ended) = watch::channel(false);
        let token = shared.token().text().to_owned();
        let name = if address.ip().is_unspecified() {
            // Nobody can go to 0.0.0.0; this machine can go to itself.
            SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), address.port())
        } else {
            address
        };
        shared.start_sampling()?;
        let accept = Accept {
            address,
            shared: Arc::clone(&shared),
            connections,
            ended,
        };
        let thread = std::thread::Builder::new()
            .name("punctual-dash".into())
            .spawn(move || {
                courtesy::step_back();
                runtime.block_on(accept.run(listener));
            })
            .map_err(unbound)?;
        Ok(Server {
            address,
            url: format!("http://{name}/?token={token}"),
            token,
            end,
            thread: Some(thread),
            shared,
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address with the token in it: who opens it may act, if anybody may.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token alone, for `Authorization: Bearer`.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Ends it: answers in progress get half a second, streams end at once. Returns when its thread has ended.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.send_replace(true);
        self.shared.hub.close();
        if let Some(thread) = self.thread.take() {
            // It panics for no reason of the caller's.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({})", self.address)
    }
}

/// What the thread needs.
struct Accept {
    address: SocketAddr,
    shared: Arc<Shared>,
    connections: usize,
    ended: watch::Receiver<bool>,
}

impl Accept {
    async fn run(mut self, listener: TcpListener) {
        let places = Arc::new(Semaphore::new(self.connections));
        let router = self.is_loopback().then(|| self.router(self.address));
        let mut open = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                _ = self.ended.changed() => break,
                accepted = listener.accept() => accepted,
                Some(_) = open.join_next(), if !open.is_empty() => continue,
            };
            match accepted {
                Ok((stream, peer)) => {
                    let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                        continue;
                    };
                    // Not on loopback: the names depend on the address it came in by.
                    let router = router.clone().unwrap_or_else(|| self.router_for(&stream));
                    open.spawn(async move {
                        serve(router, stream, peer).await;
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(AFTER_ERROR).await,
            }
        }
        drop(listener);
        let all_gone = async { while open.join_next().await.is_some() {} };
        // Whoever is left is cut off when the set is dropped.
        let _ = tokio::time::timeout(FAREWELL, all_gone).await;
    }

    fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }

    fn router_for(&self, stream: &TcpStream) -> Router {
        self.router(stream.local_addr().unwrap_or(self.address))
    }

    fn router(&self, arrived: SocketAddr) -> Router {
        let more = self.shared.settings.hosts.clone();
        let (hosts, is_open) = if self.is_loopback() {
            (Hosts::of_loopback(arrived, &more), true)
        } else {
            (Hosts::Arrived(arrived, more), false)
        };
        let way_in = WayIn {
            rules: self.shared.settings.rules(hosts, is_open),
            has_timer: true,
        };
        crate::routes::router(Arc::clone(&self.shared), way_in)
    }
}

async fn serve(router: Router, stream: TcpStream, peer: SocketAddr) {
    // A frame a second in small pieces: waiting for more of them makes charts jump.
    let _ = stream.set_nodelay(true);
    connection(router, TokioIo::new(Timed::new(stream)), Some(peer)).await;
}

/// One connection, to its end. Without a peer, without a clock too: then nobody waits.
pub(crate) async fn connection(
    router: Router,
    stream: impl hyper::rt::Read + hyper::rt::Write + Unpin,
    peer: Option<SocketAddr>,
) {
    let answer = service_fn(move |mut request: Request<Incoming>| {
        if let Some(peer) = peer {
            request.extensions_mut().insert(Peer(peer));
        }
        router.clone().call(request)
    });
    let mut settings = http1::Builder::new();
    settings.max_buf_size(HEAD_BYTES);
    if peer.is_some() {
        settings.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    } else {
        settings.header_read_timeout(None);
    }
    // A client that goes away in the middle is no news.
    let _ = settings.serve_connection(stream, answer).await;
}

/// Where a request came from, for the audit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);
