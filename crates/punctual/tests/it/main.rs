//! One binary, a module per promise.
mod smoke;
