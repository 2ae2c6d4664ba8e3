//! Every setting of a dashboard, its default and its check.

use crate::access::{Hosts, Rules};
use crate::dashboard::{Dashboard, Shared};
use crate::token::Token;
use crate::{DashError, Server};
use punctual::Control;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// Tabs that may listen at a time, unless said otherwise.
const STREAMS: usize = 256;

/// Connections, unless said otherwise: a process has 1024 descriptors by default, and needs some itself.
const CONNECTIONS: usize = 512;

/// Settings of a [`Dashboard`].
///
/// ```
/// use punctual_dash::Dashboard;
///
/// let pool = punctual::Pool::fixed(2)?;
/// let dashboard = Dashboard::builder().pool(pool.control()).build()?;
/// let app: axum::Router = axum::Router::new().nest("/pools", dashboard.router());
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until `build`, `router` or `serve`"]
pub struct DashboardBuilder {
    controls: Vec<Control>,
    dump: Option<String>,
    bind: SocketAddr,
    token: Option<String>,
    hosts: Vec<String>,
    open_reads: Option<bool>,
    read_only: Option<bool>,
    streams: usize,
    connections: usize,
}

impl DashboardBuilder {
    pub(crate) fn new() -> Self {
        DashboardBuilder {
            controls: Vec::new(),
            dump: None,
            bind: (Ipv4Addr::LOCALHOST, 0).into(),
            token: None,
            hosts: Vec::new(),
            open_reads: None,
            read_only: None,
            streams: STREAMS,
            connections: CONNECTIONS,
        }
    }

    pub(crate) fn dump(mut self, json: String) -> Self {
        self.dump = Some(json);
        self
    }

    /// Shows this pool. More can come and go later: [`Dashboard::add`].
    pub fn pool(mut self, control: Control) -> Self {
        self.controls.push(control);
        self
    }

    /// Where [`serve`](Self::serve) listens. Default: 127.0.0.1, any free port. Any other address than loopback needs the token
    /// for reads too, and allows no changes unless [`read_only(false)`](Self::read_only) says so.
    pub fn bind(mut self, address: impl Into<SocketAddr>) -> Self {
        self.bind = address.into();
        self
    }

    /// The token that changes need: at least 16 letters, digits and `-_.~`. Default: a random one.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// More names that requests may call this server by, as a browser sends them: `dash.example.org`, or
    /// `dash.example.org:8080`. Needed behind a proxy. Default: the loopback names, or the bound address.
    pub fn hosts<I>(mut self, names: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.hosts.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether figures are shown without the token. Default: on a loopback address yes, else no; for a mounted router no,
    /// since it does not know who can reach it.
    pub fn open_reads(mut self, open: bool) -> Self {
        self.open_reads = Some(open);
        self
    }

    /// Whether it only shows. Default: on a loopback address no, else yes; for a mounted router yes.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = Some(read_only);
        self
    }

    /// Tabs that may listen at a time; one more is answered with 503. Default: 256.
    pub fn max_streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }

    /// Connections of [`serve`](Self::serve) at a time; one more is closed. Default: 512.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Checks the settings. Nothing runs yet.
    ///
    /// # Errors
    ///
    /// A setting that cannot be; it is named.
    pub fn build(self) -> Result<Dashboard, DashError> {
        let token = match &self.token {
            Some(text) => Token::chosen(text)?,
            None => Token::random()?,
        };
        for name in &self.hosts {
            check_host(name)?;
        }
        for (setting, value) in [
            ("max_streams", self.streams),
            ("max_connections", self.connections),
        ] {
            if value == 0 {
                return Err(DashError::new(
                    setting,
                    value,
                    "nobody could look",
                    "use at least 1",
                ));
            }
        }
        if let Some(json) = &self.dump {
            crate::dump::check(json)?;
        }
        let settings = Settings {
            bind: self.bind,
            token,
            hosts: self.hosts,
            open_reads: self.open_reads,
            read_only: self.read_only,
            streams: self.streams,
            connections: self.connections,
            dump: self.dump.map(Into::into),
        };
        let dashboard = Dashboard::of(Shared::new(settings));
        for control in self.controls {
            let _ = dashboard.add(control);
        }
        Ok(dashboard)
    }

    /// A router to mount: [`build`](Self::build) and [`Dashboard::router`].
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn router(self) -> Result<axum::Router, DashError> {
        Ok(self.build()?.router())
    }

    /// A server of its own: [`build`](Self::build) and [`Dashboard::serve`].
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), and if the address cannot be bound.
    pub fn serve(self) -> Result<Server, DashError> {
        self.build()?.serve()
    }
}

fn check_host(name: &str) -> Result<(), DashError> {
    let is_host = !name.is_empty()
        && name.len() <= 260
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-.:[]_".contains(&byte));
    if is_host {
        return Ok(());
    }
    let why = "it is no host name as a browser sends it";
    let help = "write it as dash.example.org or dash.example.org:8080, without http:// and without a path";
    Err(DashError::new("hosts", format!("{name:?}"), why, help))
}

/// The settings, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) bind: SocketAddr,
    pub(crate) token: Token,
    pub(crate) hosts: Vec<String>,
    open_reads: Option<bool>,
    read_only: Option<bool>,
    pub(crate) streams: usize,
    pub(crate) connections: usize,
    pub(crate) dump: Option<Arc<str>>,
}

impl Settings {
    /// The rules for a way in with these names. `is_private`: only this machine can reach it.
    pub(crate) fn rules(&self, hosts: Hosts, is_private: bool) -> Rules {
        Rules {
            hosts,
            token: self.token.clone(),
            reads_need_token: !self.open_reads.unwrap_or(is_private),
            // There is nothing to act on in a dump.
            read_only: self.read_only.unwrap_or(!is_private) || self.dump.is_some(),
        }
    }
}
