//! `figures!`: one table of figures, from which everything that shows them is made.
//!
//! In: a struct whose fields are rows: documentation, name, type, how the figure of a child pool is added, and under which
//! names metrics show it. Out: the struct, its empty value, the sum, JSON, and metrics (for Prometheus and for the `metrics`
//! facade). A new figure is a row in the table (`stats.rs`) and the place that fills it in (`pool/engine.rs`). Not here: the
//! tables, and what a metric is (`meter.rs`).
//!
//! ```text
//! /// How often a future was polled.
//! pub polls: u64 = sum, counter("executor_polls_total", "Polls of futures.");
//!     field  type  rule metrics, any number of them
//! ```
//!
//! Rules: `sum` adds what a child pool has ([`Figure::add`]), `max` keeps the larger one, `own` keeps the pool's. The JSON key
//! is the field's name. A metric is a call of a function of `meter/series.rs`, with changes after it: `.with("outcome",
//! "finished")` is a label, `.of(|stats| ..)` another value than the field's, `.when(|stats| ..)` leaves it out.

use super::json::{Json, Value as JsonValue};
#[cfg(any(feature = "prometheus", feature = "metrics"))]
use super::meter::{Labelled, Value};
use super::{Histogram, Recorder};
use crate::sync::Arc;
use std::time::Duration;

/// The type of a field in a table of figures.
pub(crate) trait Figure {
    /// What a pool shows that has done nothing.
    fn nothing() -> Self;

    /// Adds what a child pool has.
    fn add(&mut self, child: &Self);

    /// Writes it under this name.
    fn write(&self, name: &str, json: &mut Json);

    /// Its value as a metric; `None` leaves the metric out.
    #[cfg(any(feature = "prometheus", feature = "metrics"))]
    fn value(&self) -> Option<Value> {
        None
    }

    /// Metrics of what lies inside it.
    #[cfg(any(feature = "prometheus", feature = "metrics"))]
    fn measure(&self, _: &mut Labelled<'_>) {}
}

macro_rules! figures {
    (
        $(#[$about:meta])*
        pub struct $Table:ident {
            $(
                $(#[$doc:meta])*
                pub $field:ident : $type:ty = $rule:ident
                    $(, $series:ident $arguments:tt $(. $change:ident $by:tt)*)* ;
            )*
        }
    ) => {
        $(#[$about])*
        pub struct $Table {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $Table {
            /// The fields, into an object of JSON.
            pub(crate) fn fill(&self, json: &mut $crate::observe::json::Json) {
                $($crate::observe::figures::Figure::write(&self.$field, stringify!($field), json);)*
            }
        }

        impl $crate::observe::figures::Figure for $Table {
            fn nothing() -> Self {
                $Table { $($field: $crate::observe::figures::Figure::nothing(),)* }
            }

            fn add(&mut self, child: &Self) {
                $(figures!(@add $rule, self.$field, child.$field);)*
            }

            fn write(&self, name: &str, json: &mut $crate::observe::json::Json) {
                json.object_field(name, |json| self.fill(json));
            }

            #[cfg(any(feature = "prometheus", feature = "metrics"))]
            fn measure(&self, to: &mut $crate::observe::meter::Labelled<'_>) {
                $(
                    $(
                        let series = $crate::observe::meter::series::$series::<$Table> $arguments $(.$change $by)*;
                        to.series(series, self, &self.$field);
                    )*
                    $crate::observe::figures::Figure::measure(&self.$field, to);
                )*
            }
        }
    };
    (@add sum, $own:expr, $child:expr) => { $crate::observe::figures::Figure::add(&mut $own, &$child) };
    (@add max, $own:expr, $child:expr) => { $own = $own.max($child) };
    (@add own, $own:expr, $child:expr) => { let _ = &$child; };
}
pub(crate) use figures;

/// A type that is one value in JSON, and one number as a metric.
macro_rules! plain {
    ($($type:ty: $nothing:expr, |$own:ident, $child:ident| $add:expr, |$of:ident| $number:expr;)*) => {$(
        impl Figure for $type {
            fn nothing() -> Self {
                $nothing
            }

            fn add(&mut self, child: &Self) {
                let ($own, $child) = (self, child);
                $add;
            }

            fn write(&self, name: &str, json: &mut Json) {
                json.field(name, self as &dyn JsonValue);
            }

            #[cfg(any(feature = "prometheus", feature = "metrics"))]
            fn value(&self) -> Option<Value> {
                let $of = self;
                let number: Option<f64> = $number;
                number.map(Value::Number)
            }
        }
    )*};
}

plain! {
    usize: 0, |own, child| *own += child, |number| Some(*number as f64);
    u64: 0, |own, child| *own += child, |number| Some(*number as f64);
    bool: false, |own, child| *own |= child, |is_so| Some(f64::from(u8::from(*is_so)));
    Duration: Duration::ZERO, |own, child| *own += *child, |time| Some(time.as_secs_f64());
    // As a metric, 0 where there is none: a gauge that vanishes breaks the line in a chart.
    Option<Duration>: None, |own, child| *own = (*own).max(*child), |time| Some(time.unwrap_or_default().as_secs_f64());
    Option<f64>: None, |own, child| *own = own.or(*child), |ratio| *ratio;
    Option<i32>: None, |own, child| *own = own.or(*child), |number| number.map(f64::from);
}

impl Figure for Arc<str> {
    fn nothing() -> Self {
        "".into()
    }

    fn add(&mut self, _: &Self) {}

    fn write(&self, name: &str, json: &mut Json) {
        json.field(name, &**self);
    }
}

impl Figure for Histogram {
    fn nothing() -> Self {
        Recorder::new().snapshot()
    }

    fn add(&mut self, child: &Self) {
        Histogram::add(self, child);
    }

    fn write(&self, name: &str, json: &mut Json) {
        json.object_field(name, |json| {
            json.field("count", &self.count());
            json.field("sum", &self.sum());
            json.field("p50", &self.quantile(0.5));
            json.field("p99", &self.quantile(0.99));
            let buckets = self.buckets();
            json.pairs_field(
                "buckets",
                buckets.map(|(bound, events)| (bound.as_secs_f64(), events)),
            );
        });
    }

    #[cfg(any(feature = "prometheus", feature = "metrics"))]
    fn value(&self) -> Option<Value> {
        Some(Value::Times(self.clone()))
    }
}
