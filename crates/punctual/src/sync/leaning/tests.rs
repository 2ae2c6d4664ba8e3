//! A lock that leans: on one, on another after that, and taken away by others.

use super::*;
use crate::sync::{spin_loop, start_thread};
use std::sync::Arc;

#[test]
fn its_owner_takes_it_again_and_again_until_another_does() {
    let lock = LeaningLock::leaning(0);
    let lean = Lean::on(&lock);
    assert!(lean.try_lock().is_none(), "it does not lean yet");
    lean.lean();
    for _ in 0..3 {
        *lean.try_lock().unwrap() += 1;
    }
    assert!(lock.try_lock().is_none(), "a glance does not take it away");
    assert_eq!(*lock.lock(), 3);
    assert!(lean.try_lock().is_none() && !lean.leans());
    assert_eq!(*lock.try_lock().unwrap(), 3);
    lean.lean();
    assert!(lean.try_lock().is_some());
}

#[test]
fn there_is_one_owner_until_it_gives_it_back() {
    let lock = LeaningLock::leaning(());
    let (first, second) = (Lean::on(&lock), Lean::on(&lock));
    first.lean();
    second.lean();
    assert!(!second.leans(), "another owns it");
    assert!(
        first.try_lock().is_none(),
        "the second has taken it away, in vain"
    );
    first.lean();
    drop(first);
    second.lean();
    assert!(second.try_lock().is_some());
    drop(second);
    assert!(lock.try_lock().is_some(), "it was left as everybody leaves it");
}

/// One leans whenever it can, the others come as everybody does: each counts what it did, and none is lost.
#[test]
fn nobody_is_inside_with_another() {
    const ROUNDS: u64 = 20_000;
    let lock = Arc::new(LeaningLock::leaning((0_u64, 0_u64)));
    let add = |pair: &mut (u64, u64)| {
        assert_eq!(pair.0, pair.1);
        pair.0 += 1;
        spin_loop();
        pair.1 += 1;
    };
    let owner = {
        let lock = lock.clone();
        start_thread("owner".into(), None, move || {
            let lean = Lean::on(&lock);
            for round in 0..50 * ROUNDS {
                match lean.try_lock() {
                    Some(mut guard) => add(&mut guard),
                    None => {
                        add(&mut lock.lock());
                        if round % 4 == 0 {
                            lean.lean();
                        }
                    }
                }
            }
        })
    };
    let others: Vec<_> = (0..2)
        .map(|_| {
            let lock = lock.clone();
            let body = move || (0..ROUNDS).for_each(|_| add(&mut lock.lock()));
            start_thread("other".into(), None, body).unwrap()
        })
        .collect();
    owner.unwrap().join().unwrap();
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(*lock.lock(), (52 * ROUNDS, 52 * ROUNDS));
}
