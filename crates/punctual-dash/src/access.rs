//! Who may do what: pure rules over a request's method, path and headers.
//!
//! In: the [`Rules`] of this way in (a bound address, or a router mounted somewhere) and the head of a request. Out: nothing,
//! or a [`Refusal`] with its status. The order is fixed: host, origin, then token, then whether changes are allowed at all.
//! What a request asks for is told by its method and path alone, so a route that is added is guarded without a word.
//!
//! Host names are compared exactly: a page of somebody else's whose name was made to point here (rebinding) sends its own
//! name. A token is sent as a cookie, which a page's script cannot read, or as `Authorization: Bearer`.

use crate::token::Token;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use std::net::{IpAddr, SocketAddr};

/// The header every change must carry: a form or an image of a foreign page cannot set it.
pub(crate) const ACTION_HEADER: &str = "x-punctual";

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// The page's own script and style, the form that takes a token: nothing of a pool is in them.
    Open,
    /// The page. Without a token, where one is needed, it is the form.
    Page,
    /// Figures.
    Read,
    /// A change.
    Write,
    /// A token is handed in.
    Session,
}

impl Ask {
    pub(crate) fn of(method: &Method, path: &str) -> Ask {
        let is_look = method == Method::GET || method == Method::HEAD;
        match path {
            "/session" if method == Method::POST => Ask::Session,
            "/" | "/page" if is_look => Ask::Page,
            _ if is_look && path.starts_with("/assets/") => Ask::Open,
            _ if is_look => Ask::Read,
            _ => Ask::Write,
        }
    }
}

/// Which names a request may call this server by.
#[derive(Debug, Clone)]
pub(crate) enum Hosts {
    /// These, as they stand: with the port.
    Exact(Vec<String>),
    /// The address that the connection came in by, and these.
    Arrived(SocketAddr, Vec<String>),
    /// Any port of this machine's names, and these.
    Mounted(Vec<String>),
}

impl Hosts {
    fn contains(&self, host: &str) -> bool {
        let is_listed = |names: &[String]| names.iter().any(|name| name.eq_ignore_ascii_case(host));
        match self {
            Hosts::Exact(names) => is_listed(names),
            Hosts::Arrived(address, names) => {
                let by_address = [address.to_string(), address.ip().to_string()];
                is_listed(&by_address[..if address.port() == 80 { 2 } else { 1 }]) || is_listed(names)
            }
            Hosts::Mounted(names) => is_loopback_name(without_port(host)) || is_listed(names),
        }
    }

    /// The names of a server that is bound to `address`.
    pub(crate) fn of_loopback(address: SocketAddr, more: &[String]) -> Hosts {
        let port = address.port();
        let mut names: Vec<String> = vec![
            format!("localhost:{port}"),
            format!("127.0.0.1:{port}"),
            format!("[::1]:{port}"),
            address.to_string(),
        ];
        if port == 80 {
            names.extend(["localhost", "127.0.0.1", "[::1]"].map(String::from));
        }
        names.extend_from_slice(more);
        Hosts::Exact(names)
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn is_loopback_name(name: &str) -> bool {
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The rules of one way in.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    pub(crate) hosts: Hosts,
    pub(crate) token: Token,
    pub(crate) reads_need_token: bool,
    pub(crate) read_only: bool,
}

/// A request that is not answered, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, text: impl Into<String>) -> Self {
        Refusal {
            status,
            code,
            text: text.into(),
        }
    }
}

impl Rules {
    /// Whether the request may be answered.
    pub(crate) fn check(&self, ask: Ask, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = self.check_host(uri, headers)?;
        check_origin(ask, &host, headers)?;
        check_length(headers)?;
        match ask {
            Ask::Open | Ask::Page | Ask::Session => Ok(()),
            Ask::Read if !self.reads_need_token || self.has_token(headers) => Ok(()),
            Ask::Read => Err(no_token("to read from this address")),
            Ask::Write => self.check_write(headers),
        }
    }

    /// Whether changes would be allowed with this request's token.
    pub(crate) fn may_act(&self, headers: &HeaderMap) -> bool {
        !self.read_only && self.has_token(headers)
    }

    /// Whether figures may be shown.
    pub(crate) fn may_read(&self, headers: &HeaderMap) -> bool {
        !self.reads_need_token || self.has_token(headers)
    }

    fn check_write(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.has_token(headers) {
            return Err(no_token("to change anything"));
        }
        if !headers.contains_key(ACTION_HEADER) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "no_action_header",
                format!("a change needs the header {ACTION_HEADER}: 1, which a foreign page cannot send"),
            ));
        }
        if self.read_only {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "read_only",
                "this dashboard only shows: build it with read_only(false) to allow changes",
            ));
        }
        Ok(())
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, Refusal> {
        let mut named = headers.get_all(header::HOST).iter();
        let first = named.next().map(|value| value.to_str().unwrap_or_default());
        let host = match (first, named.next()) {
            (Some(host), None) => host,
            // HTTP/2 has no such header.
            (None, _) => uri.authority().map_or("", |authority| authority.as_str()),
            (Some(_), Some(_)) => "",
        };
        if self.hosts.contains(host) {
            return Ok(host.to_owned());
        }
        Err(Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            "wrong_host",
            format!(
                "Host {:?} is not a name of this dashboard: add it with hosts([..]), or use the address it printed",
                shortened(host)
            ),
        ))
    }

    pub(crate) fn has_token(&self, headers: &HeaderMap) -> bool {
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| {
            let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        if bearer.is_some_and(|token| self.token.is(token)) {
            return true;
        }
        let cookies = headers.get_all(header::COOKIE).iter();
        let pairs = cookies
            .filter_map(|value| value.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let mut ours = pairs.filter(|(name, _)| *name == self.token.cookie_name());
        ours.any(|(_, value)| self.token.is(value))
    }
}

fn no_token(what: &str) -> Refusal {
    Refusal::new(
        StatusCode::UNAUTHORIZED,
        "no_token",
        format!(
            "a token is needed {what}: open the address with the token in it, or send Authorization: Bearer"
        ),
    )
}

/// A page of somebody else's may not ask for anything: browsers say where a request comes from.
fn check_origin(ask: Ask, host: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    let foreign = |from: &str| {
        Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            format!("a page of {:?} may not ask this dashboard", shortened(from)),
        ))
    };
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or("?");
        let place = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        // A form's origin is "null" under the policy that no referrer is told; whoever sends the token may send it so.
        let is_form = ask == Ask::Session && origin == "null";
        if !is_form && !place.is_some_and(|place| place.eq_ignore_ascii_case(host)) {
            return foreign(origin);
        }
    }
    let site = headers
        .get("sec-fetch-site")
        .map(|value| value.to_str().unwrap_or("?"));
    // A link to the page may be followed from anywhere.
    match site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if matches!(ask, Ask::Page | Ask::Open) => Ok(()),
        Some(site) => foreign(site),
    }
}

/// Everybody who has something to send here knows its length; two ways to tell it are a way to be misunderstood.
fn check_length(headers: &HeaderMap) -> Result<(), Refusal> {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        return Err(Refusal::new(
            StatusCode::LENGTH_REQUIRED,
            "length_required",
            "a body is sent with Content-Length, not with Transfer-Encoding",
        ));
    }
    Ok(())
}

/// What a stranger sent, in an error: not more than a line of it.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests;
