//! Plain data and counters. Reading changes nothing.

pub(crate) mod counters;
