//! A live page for Punctual's pools: what they do, why a task waits, and what to change.
//!
//! ```
//! use punctual::Pool;
//! use punctual_dash::Dashboard;
//!
//! let pool = Pool::builder("orders").core_threads(2).max_threads(8).build()?;
//! let server = Dashboard::builder().pool(pool.control()).serve()?;
//! println!("{}", server.url()); // open it in a browser
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! [`Dashboard::serve`] needs no runtime: it has a thread of its own. An application that is built on axum mounts
//! [`Dashboard::router`] instead. Pools come and go with [`Dashboard::add`] and [`Dashboard::remove`]; none is kept alive by
//! being shown.
//!
//! # Who may do what
//!
//! | bound to | to look | to change |
//! | --- | --- | --- |
//! | loopback (default) | open | the token, a header of its own, the right origin |
//! | any other address | the token | off, unless `read_only(false)` |
//! | mounted | the token, unless `open_reads(true)` | off, unless `read_only(false)` |
//!
//! Every request must name the server by one of its names: a foreign page whose name was made to point here is refused. Changes
//! are listed with what came of them.
//!
//! # What it costs
//!
//! A look at each pool's counters a second, by one thread, for the charts of the last hour (half a megabyte for a pool
//! with four levels). Lists of
//! tasks and workers are made only while somebody watches. A dashboard that was not started does nothing.
//!
//! The JSON behind the page is documented in `docs/dashboard-api.md`, the page in `docs/dashboard.md`.

mod access;
mod assets;
mod audit;
mod builder;
mod clip;
mod courtesy;
mod dashboard;
mod detail;
mod dump;
mod error;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod history;
mod page;
mod registry;
mod routes;
mod runs;
mod sampler;
mod schedules;
mod served;
mod server;
mod stream;
mod tasks;
mod timed;
mod timeline;
mod token;

pub use builder::DashboardBuilder;
pub use dashboard::{Dashboard, Shown};
pub use error::DashError;
pub use server::Server;

/// The guide's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dashboard.md")]
struct Guide;
