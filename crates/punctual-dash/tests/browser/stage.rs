//! Pools with something of everything: running, waiting, lifted, rejected, scheduled; and the page of them.

use crate::chrome::Chrome;
use punctual::{Pool, Priority, Queue, Schedule, ScheduleHandle, TaskHandle};
use punctual_dash::{Dashboard, DashboardBuilder, Server};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// What a test needs to act on.
pub(crate) struct Stage {
    /// Dropped, the running task ends: before the pool, which waits for it.
    pub(crate) hold: Option<Sender<()>>,
    pub(crate) chrome: Chrome,
    pub(crate) server: Server,
    pub(crate) pool: Pool,
    pub(crate) schedule: ScheduleHandle,
    pub(crate) waiting: Vec<TaskHandle<()>>,
}

/// Pool and tasks are given these names.
pub(crate) struct Names<'a> {
    pub(crate) pool: &'a str,
    pub(crate) task: &'a str,
    pub(crate) error: &'a str,
}

pub(crate) const PLAIN: Names<'static> = Names {
    pool: "orders",
    task: "refresh",
    error: "no luck",
};

/// `None`: there is no browser.
pub(crate) fn set(
    names: &Names<'_>,
    settings: impl FnOnce(DashboardBuilder) -> DashboardBuilder,
) -> Option<Stage> {
    let chrome = Chrome::start()?;
    let queue = Queue::priority(12).aging(Duration::from_millis(200));
    let pool = Pool::builder(names.pool)
        .core_threads(1)
        .max_threads(1)
        .queue(queue)
        .recorder(4096)
        .build()
        .unwrap();
    let (hold, held) = channel::<()>();
    let (begin, begun) = channel();
    let running = pool.task(move || {
        begin.send(()).unwrap();
        let _ = held.recv();
    });
    running.name(format!("{} running", names.task)).execute().unwrap();
    begun.recv().unwrap();
    let mut waiting = Vec::new();
    for number in 0..10 {
        let level = if number % 2 == 0 {
            Priority::LOW
        } else {
            Priority::URGENT
        };
        let task = pool
            .task(|| ())
            .name(format!("{} {number}", names.task))
            .priority(level);
        waiting.push(task.submit().unwrap());
    }
    let error = names.error.to_owned();
    let plan = Schedule::every(Duration::from_secs(3600)).starting_in(Duration::from_secs(3600));
    let failing = move |_: &punctual::Run| Err::<(), String>(error.clone());
    let schedule = pool.schedule(plan.named(names.task.to_owned()), failing).unwrap();
    while pool
        .task(|| ())
        .name(format!("{} rejected", names.task))
        .execute()
        .is_ok()
    {}
    let server = settings(Dashboard::builder().pool(pool.control()))
        .serve()
        .unwrap();
    Some(Stage {
        chrome,
        server,
        pool,
        schedule,
        waiting,
        hold: Some(hold),
    })
}

impl Stage {
    /// Opens a page with the token, and waits until it is live.
    pub(crate) fn open(&mut self, page: &str) {
        let address = format!("{}#/{page}", self.server.url());
        self.go(&address);
    }

    pub(crate) fn go(&mut self, address: &str) {
        self.chrome.open("about:blank");
        self.chrome.open(address);
        self.chrome.until(&format!("{} === 'live'", of("live")));
    }

    pub(crate) fn is_clean(&self) {
        assert!(self.chrome.complaints.is_empty(), "{:?}", self.chrome.complaints);
        assert_eq!(self.chrome.dialogs, 0);
    }
}

/// The text of the element with that mark, as an expression of the page's script.
pub(crate) fn of(mark: &str) -> String {
    format!("document.querySelector('[data-testid=\"{mark}\"]')?.textContent")
}
