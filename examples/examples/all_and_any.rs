//! All of them, in the order of the closures; or the first that succeeds, and the rest cancelled.

use punctual::{AnyError, Pool, task};
use punctual_examples::hide_planned_panics;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    hide_planned_panics();
    let pool = Pool::fixed(2)?;

    // A failure is an outcome like any other: the rest is not lost with it.
    let quotients = pool.all([6, 3, 0].map(|n| move || 18_i32.checked_div(n).expect("(on purpose)")))?;
    let [Ok(3), Ok(6), Err(error)] = &quotients[..] else {
        panic!("not as promised: {quotients:?}")
    };
    assert!(error.is_panic());

    // With a limit: what has not ended by then is cancelled, and says so.
    let naps = [Duration::ZERO, HOUR];
    let outcomes = pool.all_timeout(
        Duration::from_millis(20),
        naps.map(|nap| move || task::sleep(nap)),
    )?;
    assert!(outcomes[0].is_ok());
    assert!(outcomes[1].as_ref().is_err_and(|error| error.is_cancelled()));

    // The first `Ok` wins; the mirror that sleeps is asked to stop.
    let mirror = |name: &'static str, delay| {
        move || match task::sleep(delay) {
            Ok(()) if name == "down" => Err("no connection"),
            Ok(()) => Ok(name),
            Err(_) => Err("asked to stop"),
        }
    };
    let mirrors = [("down", Duration::ZERO), ("near", Duration::ZERO), ("far", HOUR)];
    let fastest = pool.any(mirrors.map(|(name, delay)| mirror(name, delay)))?;
    assert_eq!(fastest, "near");
    assert!(
        pool.wait_idle(Duration::from_secs(60)),
        "nobody sleeps on for an hour"
    );

    // None succeeded: the error of the last one.
    let failed = pool.any([mirror("down", Duration::ZERO), mirror("down", Duration::ZERO)]);
    assert!(matches!(failed, Err(AnyError::AllFailed("no connection"))));
    println!("fastest mirror: {fastest}; quotients: {quotients:?}");
    Ok(())
}
