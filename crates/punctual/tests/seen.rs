//! A pool seen and steered from outside: `SEE-..`. A binary of its own, so that what shows a pool can be tested without
//! building all the rest.

/// What waits and what runs, and what can be done with it.
#[path = "seen/controlling.rs"]
mod controlling;
/// Figures through the `metrics` facade.
#[cfg(feature = "metrics")]
#[path = "seen/facade.rs"]
mod facade;
/// A strict reader of JSON.
#[path = "seen/json.rs"]
mod json;
/// What the labels of figures mean.
#[cfg(feature = "prometheus")]
#[path = "seen/labels.rs"]
mod labels;
/// Figures as text for Prometheus.
#[cfg(feature = "prometheus")]
#[path = "seen/metering.rs"]
mod metering;
/// Figures that move.
#[cfg(feature = "prometheus")]
#[path = "seen/moving.rs"]
mod moving;
/// While tasks end as fast as they are looked at.
#[path = "seen/racing.rs"]
mod racing;
/// Events, refusals, dumps.
#[path = "seen/recording.rs"]
mod recording;
/// What several modules need.
#[path = "it/support.rs"]
#[allow(dead_code, reason = "the other binary needs more of it")]
mod support;
/// Spans for tasks.
#[cfg(feature = "tracing")]
#[path = "seen/tracing.rs"]
mod tracing;
