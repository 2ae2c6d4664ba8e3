//! The same figures through the `metrics` facade.

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
};
use punctual::Pool;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Keeps what it is told, under the name and the labels.
#[derive(Default, Clone)]
struct Told(Arc<Mutex<BTreeMap<String, f64>>>);

struct One(Told, String);

impl CounterFn for One {
    fn increment(&self, _: u64) {
        panic!("the figures are absolute");
    }
    fn absolute(&self, value: u64) {
        self.set(value as f64);
    }
}

impl GaugeFn for One {
    fn increment(&self, _: f64) {
        panic!("the figures are absolute");
    }
    fn decrement(&self, _: f64) {
        panic!("the figures are absolute");
    }
    fn set(&self, value: f64) {
        self.0.0.lock().unwrap().insert(self.1.clone(), value);
    }
}

impl Told {
    fn one(&self, key: &Key) -> Arc<One> {
        let labels: Vec<String> = key
            .labels()
            .map(|label| format!("{}={}", label.key(), label.value()))
            .collect();
        Arc::new(One(self.clone(), format!("{} {}", key.name(), labels.join(" "))))
    }
}

impl Recorder for Told {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, help: SharedString) {
        assert!(help.ends_with('.'));
    }
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, help: SharedString) {
        assert!(help.ends_with('.'));
    }
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        panic!("there are none");
    }
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.one(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.one(key))
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        panic!("there are none");
    }
}

#[test]
fn see_50_the_facade_is_told_the_same_figures() {
    let pool = Pool::builder("web").core_threads(1).build().unwrap();
    for _ in 0..3 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    let told = Told::default();
    metrics::with_local_recorder(&told, || punctual::metrics::publish([&pool.control()]));
    let told = told.0.lock().unwrap();
    let of = |key: &str| *told.get(key).unwrap_or_else(|| panic!("no {key} in {told:?}"));
    assert_eq!(
        of("executor_completed_tasks_total name=web outcome=finished"),
        3.0
    );
    assert_eq!(of("executor_pool_core_threads name=web"), 1.0);
    assert!(of("executor_seconds_count name=web") > 0.0);
    assert!(of("executor_seconds_sum name=web") >= 0.0);
}
