//! What users of Spring's task scheduler know: `SPR-..`.
//!
//! Not here, because there is nothing to test: SPR-14 (schedules are not compared).

/// Instants, delays, threads: SPR-01 to SPR-04, SPR-15, SPR-17, SPR-22, SPR-23, SPR-25.
mod placing;
/// Failures and who is told: SPR-05 to SPR-08, SPR-16.
mod reporting;
/// Shutdown, pause, limits: SPR-18 to SPR-21, SPR-24.
mod stopping;
/// Triggers: SPR-10 to SPR-13.
mod triggering;
