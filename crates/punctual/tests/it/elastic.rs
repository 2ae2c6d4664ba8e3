//! `Lanes`: threads that come and go, one bounded queue, and lanes on them (REA).

mod capacity;
mod disposing;
mod lanes;
mod threads;
