//! How many steps a search takes, in every zone, around every change of its clocks. What it finds is compared elsewhere
//! (`tests/it/cron/oracle.rs`); here it is that it ends.

use super::zone::Zone;
use super::{Cron, CronDialect, Fold, Gap, MAX_STEPS};

/// Hard to find: local times that the changes of clocks skip or repeat, the leap day, days that come once in years.
const TEXTS: [&str; 8] = [
    "30 2 * * *",
    "30 2 29 2 *",
    "0 0 29 2 MON",
    "59 59 23 31 12 FRI",
    "0 2-3 L * *",
    "*/7 * * * *",
    "30 1,2 15W 3,10 *",
    "0 0 1 1 *",
];

const YEAR: i64 = 31_556_952;

/// Far apart dates are reached in leaps, so that even a leap day on a Monday takes no more.
const FEW: usize = 8;

#[test]
fn fault_13_a_search_ends_within_few_steps_in_every_zone() {
    let zones = Zone::all();
    assert!(zones.len() > 300, "only {} zones", zones.len());
    let crons: Vec<Cron> = TEXTS
        .iter()
        .flat_map(|text| {
            let mut plain = Cron::parse(text).expect("possible");
            plain.set_dialect(CronDialect::Spring).expect("possible");
            let mut last = plain.clone();
            last.set_gap(Gap::Skip);
            last.set_fold(Fold::Last);
            [plain, last]
        })
        .collect();
    let (mut most, mut searches) = (0, 0_u64);
    for (index, zone) in zones.iter().enumerate() {
        // From 1970 to 2100, about twice a year, at another time in each zone; and right before each change met on the way.
        let mut at = index as i64 * 7_919;
        while at < 130 * YEAR {
            let change = zone.stretch(at).and_then(|stretch| stretch.end);
            for seed in [Some(at), change.map(|change| change.at - 1)]
                .into_iter()
                .flatten()
            {
                let cron = &crons[searches as usize % crons.len()];
                let cron = Cron {
                    zone: zone.clone(),
                    ..cron.clone()
                };
                let mut steps = 0;
                let found = cron.search(seed, &mut steps);
                assert!(
                    found.is_some() && steps <= FEW,
                    "{:?} in {} from {seed}: {found:?} after {steps} steps",
                    cron.text,
                    zone.name()
                );
                most = most.max(steps);
                searches += 1;
            }
            at += YEAR / 2;
        }
    }
    println!("{searches} searches, {most} steps at most");
}

#[test]
fn fault_13_a_search_for_a_time_that_is_skipped_each_year_ends_too() {
    // Two in the morning of the second Sunday in March: there the clocks are put forward over it, in every year to come.
    let mut never = Cron::parse("30 2 8-14 3 SUN").expect("a day that comes each year");
    never.set_dialect(CronDialect::Spring).expect("possible");
    never.set_zone("America/New_York").expect("known");
    never.set_gap(Gap::Skip);
    let mut steps = 0;
    assert_eq!(never.search(40 * YEAR, &mut steps), None);
    assert!((FEW..=MAX_STEPS).contains(&steps), "{steps} steps");
}
