//! The dashboard from outside, through plain sockets: no client that could be more polite than an attacker.

/// Every route by everybody who may not.
mod access;
/// What the routes do.
mod actions;
/// Bodies, heads and queries that are wrong.
mod bad_input;
/// What a stranger can make it hold, and for how long.
mod limits;
/// In an application of somebody else's.
mod mounted;
/// The past, and what watching costs.
mod served;
/// The stream of frames.
mod streams;
/// A client of few words.
mod support;
/// What frames carry, and what they leave to who asks.
mod watched;
