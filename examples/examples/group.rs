//! A group: outcomes in the order in which the tasks end, whatever the order they were submitted in.

use punctual::{Pool, Timeout};
use std::sync::mpsc::channel;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(3)?;
    let mut group = pool.group();
    let mut gates = Vec::new();
    for name in ["a", "b", "c"] {
        let (open, gate) = channel::<()>();
        gates.push(open);
        group.submit(move || {
            gate.recv().ok();
            name
        })?;
    }
    assert_eq!(group.next_timeout(Duration::from_millis(5)).unwrap_err(), Timeout);

    // Let them end from the last to the first.
    let mut order = Vec::new();
    while let Some(open) = gates.pop() {
        drop(open);
        let (_task, name) = group.next().expect("one has not been read");
        order.push(name?);
    }
    assert_eq!(order, ["c", "b", "a"]);
    assert!(group.next().is_none());

    // The first answer is enough: dropping the group cancels the rest, waiting or running.
    let mut race = pool.group();
    for minutes in [0, 60, 60, 60, 60] {
        race.submit(move || punctual::task::sleep(Duration::from_secs(60 * minutes)))?;
    }
    let (_task, first) = race.next().expect("five were submitted");
    assert_eq!(first?, Ok(()));
    drop(race);
    assert!(pool.wait_idle(Duration::from_secs(60)));
    println!("they ended in the order {order:?}");
    Ok(())
}
