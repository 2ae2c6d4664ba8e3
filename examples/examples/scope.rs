//! Tasks that borrow: `scope` returns only when every closure in it has been dropped.

use punctual::Pool;
use punctual_examples::hide_planned_panics;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    hide_planned_panics();
    let pool = Pool::fixed(4)?;
    let words = String::from("first in first out");
    let mut lengths = [0; 4];
    let mut letters = 0;

    // No `Arc`, no `'static`: the closures read `words` and write to places of this function.
    let longest = pool.scope(|s| {
        for (place, word) in lengths.iter_mut().zip(words.split(' ')) {
            s.execute(move || *place = word.len());
        }
        s.execute(|| letters = words.chars().filter(|each| each.is_alphabetic()).count());
        s.submit(|| words.split(' ').max_by_key(|word| word.len())).join()
    })?;
    assert_eq!((lengths, letters), ([5, 2, 5, 3], 15));
    assert_eq!(longest, Some("first"));

    // A scope inside a task of the same pool: no thread is lost by waiting, not even on one thread.
    let small = Pool::single()?;
    let mut halves = [0_u64; 2];
    small.scope(|outer| {
        let small = &small;
        let halves = &mut halves;
        outer.execute(move || {
            let [low, high] = halves;
            small.scope(|inner| {
                inner.execute(|| *low = (1..=50).sum());
                inner.execute(|| *high = (51..=100).sum());
            });
        });
    });
    assert_eq!(halves.iter().sum::<u64>(), 5_050);

    // A panic that nobody joined goes on at the brace, when all the others have ended.
    let mut other = false;
    let panic = catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|s| {
            s.execute(|| panic!("(on purpose)"));
            s.execute(|| other = true);
        });
    }));
    assert!(panic.is_err() && other);
    println!("{letters} letters, lengths {lengths:?}, longest {longest:?}");
    Ok(())
}
