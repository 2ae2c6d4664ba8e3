//! Limits that once were ignored: time limits, time-outs, idle moments, covered delays.
