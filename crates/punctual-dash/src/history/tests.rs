//! Rows and windows, without a pool.

use super::*;

const MS: Duration = Duration::from_millis(1);

fn reading(second: u64, ended: u64) -> Reading {
    Reading {
        time: second * 1000,
        ended,
        ..Reading::default()
    }
}

#[test]
fn a_row_is_a_difference() {
    let mut history = History::default();
    history.take(reading(1, 100));
    assert_eq!(history.latest(), None);
    let mut next = reading(3, 150);
    next.rejected = 4;
    next.levels = vec![LevelReading {
        promoted: 3,
        ..LevelReading::default()
    }];
    history.take(next);
    let row = history.latest().unwrap();
    assert_eq!((row.rate, row.rejected, row.levels[0].promoted), (25.0, 4, 3));
}

#[test]
fn quantiles_are_those_of_the_last_seconds() {
    let mut history = History::default();
    for second in 0..20 {
        let mut next = reading(second, 0);
        // A hundred short waits at the beginning, one long one later.
        next.wait = vec![(MS, 100)];
        if second >= 12 {
            next.wait.push((50 * MS, 1));
        }
        history.take(next);
    }
    let at = |second: u64| history.rows.iter().find(|row| row.time == second * 1000).unwrap();
    let short = |time| Short::of(time);
    assert_eq!(at(11).wait_half, short(None));
    assert_eq!(
        (at(12).wait_half, at(16).wait_99),
        (short(Some(50 * MS)), short(Some(50 * MS)))
    );
    assert_eq!(at(18).wait_half, short(None));
    assert_eq!(short(Some(50 * MS)).milliseconds(), Some(50.0));
}

#[test]
fn an_hour_is_kept_and_thinned_to_its_last_row() {
    let mut history = History::default();
    for second in 0..HOUR as u64 + 100 {
        history.take(reading(second, second));
    }
    assert_eq!(history.since(0, usize::MAX).count(), HOUR);
    assert_eq!(history.since(0, 60).count(), 60);
    assert_eq!(history.since((HOUR as u64 + 97) * 1000, 60).count(), 2);
    let thin: Vec<u64> = history.thinned(HOUR, 600).map(|row| row.time).collect();
    assert_eq!(thin.len(), 600);
    assert_eq!(thin.last(), Some(&((HOUR as u64 + 99) * 1000)));
}
