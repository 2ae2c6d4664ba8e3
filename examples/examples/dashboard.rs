//! A page to look at: a pool that is busy and starves its low tasks until waiting lifts them, one that rejects, one that keeps
//! a schedule. Stays for as long as a terminal is there to say so; five seconds otherwise, or as many as it is told to.

use punctual::{Pool, Priority, Queue, Reject, Schedule, task};
use punctual_dash::Dashboard;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let orders = Pool::builder("orders")
        .core_threads(4)
        .queue(Queue::priority(400).aging(SECOND))
        .recorder(20_000)
        .build()?;
    let mail = Pool::builder("mail")
        .core_threads(2)
        .max_threads(3)
        .queue(Queue::bounded(16))
        .on_full(Reject::Abort)
        .recorder(20_000)
        .build()?;
    let reports = Pool::builder("reports").core_threads(2).build()?;
    let database = orders.limit(2)?.named("database");

    let nightly = Schedule::cron("30 2 * * *")?
        .zone("Europe/Amsterdam")?
        .named("nightly backup");
    let _nightly = reports.schedule(nightly, |_| work(40))?;
    let flush = reports.schedule(Schedule::every(SECOND).named("flush metrics"), |_| work(120))?;
    let rates = Schedule::every(3 * SECOND).named("fetch rates");
    let mut runs = 0;
    let _rates = reports.schedule(rates, move |_| {
        runs += 1;
        work(300);
        if runs % 3 == 0 {
            Err("the exchange did not answer")
        } else {
            Ok(())
        }
    })?;

    let server = [&orders, &mail, &reports]
        .into_iter()
        .fold(Dashboard::builder(), |page, pool| page.pool(pool.control()))
        .serve()?;
    println!("open {}", server.url());

    let stays = std::io::stdout().is_terminal().then_some(Duration::MAX);
    let told = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok());
    let limit = told.map(Duration::from_secs).or(stays).unwrap_or(5 * SECOND);
    let begin = Instant::now();
    for step in 0_u64.. {
        if begin.elapsed() > limit {
            break;
        }
        // More than the workers can do, half of the time.
        let is_rush = begin.elapsed().as_secs() % 16 < 8;
        if is_rush || step % 3 == 0 {
            let _ = orders
                .task(|| work(45))
                .name("checkout")
                .priority(Priority::URGENT)
                .submit();
        }
        if step % 20 == 0 {
            let _ = orders
                .task(|| work(60))
                .name("recommend")
                .priority(Priority::LOW)
                .submit();
            let _ = database.task(|| work(90)).name("stock query").submit();
        }
        if step % if is_rush { 2 } else { 7 } == 0 {
            let _ = mail.task(|| work(70)).name("confirmation").submit();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(flush.stats().runs > 0 && orders.stats().submitted > 0);
    drop(orders.stop());
    Ok(())
}

const SECOND: Duration = Duration::from_secs(1);

/// Something that takes about so many milliseconds.
fn work(milliseconds: u64) {
    let _ = task::sleep(Duration::from_millis(milliseconds));
}
