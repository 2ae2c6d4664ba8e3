//! [`Dashboard`]: which pools are shown, and the two ways to show them.
//!
//! Everything the routes, the sampler and the user's handle share is here; what each of them does is elsewhere.

use crate::access::{Hosts, Rules};
use crate::audit::Audit;
use crate::builder::{DashboardBuilder, Settings};
use crate::registry::Registry;
use crate::sampler::{Bell, Sampler};
use crate::stream::Hub;
use crate::token::Token;
use crate::{DashError, Server};
use axum::Router;
use punctual::Control;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Shows pools. A cheap handle: clones show the same pools. It holds no pool alive.
///
/// ```
/// use punctual_dash::Dashboard;
///
/// let dashboard = Dashboard::builder().build()?;
/// let server = dashboard.serve()?;
/// let pool = punctual::Pool::builder("web").core_threads(2).build()?;
/// let shown = dashboard.add(pool.control());
/// println!("{}", server.url());
/// assert!(dashboard.remove(shown));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Dashboard {
    shared: Arc<Shared>,
}

/// A pool's number on a dashboard, by which it is [removed](Dashboard::remove).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shown(pub(crate) u64);

impl Dashboard {
    /// Settings to begin with.
    pub fn builder() -> DashboardBuilder {
        DashboardBuilder::new()
    }

    /// A page that shows a dump instead of running pools: what `punctual view` opens.
    ///
    /// # Errors
    ///
    /// When it is built, if the text is no dump.
    pub fn from_dump(json: impl Into<String>) -> DashboardBuilder {
        DashboardBuilder::new().dump(json.into())
    }

    pub(crate) fn of(shared: Arc<Shared>) -> Dashboard {
        Dashboard { shared }
    }

    /// Shows one more pool. It leaves by itself a minute after it has ended.
    pub fn add(&self, control: Control) -> Shown {
        Shown(self.shared.registry.add(control))
    }

    /// Shows it no longer. False: it was not shown.
    pub fn remove(&self, pool: Shown) -> bool {
        self.shared.registry.remove(pool.0)
    }

    /// A router to mount in an application, at any path. It does not know who can reach it, so reads need the token and nothing
    /// can be changed, unless the settings say otherwise
    /// ([`open_reads`](DashboardBuilder::open_reads), [`read_only`](DashboardBuilder::read_only)); and it answers to names of
    /// this machine and to those in [`hosts`](DashboardBuilder::hosts).
    pub fn router(&self) -> Router {
        let hosts = Hosts::Mounted(self.shared.settings.hosts.clone());
        let way_in = WayIn {
            rules: self.shared.settings.rules(hosts, false),
            has_timer: false,
        };
        // Without it the page shows figures when it is loaded, and no history.
        let _ = self.shared.start_sampling();
        crate::routes::router(Arc::clone(&self.shared), way_in)
    }

    /// Serves it on a thread of its own, until the answer is dropped or [shut down](Server::shutdown).
    ///
    /// # Errors
    ///
    /// If the address cannot be bound, or the system gives no thread.
    pub fn serve(&self) -> Result<Server, DashError> {
        let settings = &self.shared.settings;
        Server::start(Arc::clone(&self.shared), settings.bind, settings.connections)
    }

    /// The token that changes need.
    #[must_use]
    pub fn token(&self) -> &str {
        self.shared.settings.token.text()
    }
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { registry, hub, .. } = &*self.shared;
        write!(
            f,
            "Dashboard({} pools, {} watched by)",
            registry.all().len(),
            hub.count()
        )
    }
}

/// How requests come in.
#[derive(Debug, Clone)]
pub(crate) struct WayIn {
    pub(crate) rules: Rules,
    /// Whether the runtime that answers surely has a timer: a mounted router's is the user's.
    pub(crate) has_timer: bool,
}

/// What everybody shares.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) registry: Registry,
    pub(crate) hub: Hub,
    pub(crate) audit: Audit,
    pub(crate) sampler: Sampler,
    bell: Mutex<Option<Arc<Bell>>>,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Arc<Shared> {
        Arc::new(Shared {
            registry: Registry::default(),
            hub: Hub::new(settings.streams),
            audit: Audit::default(),
            sampler: Sampler::default(),
            settings,
            bell: Mutex::default(),
        })
    }

    pub(crate) fn token(&self) -> &Token {
        &self.settings.token
    }

    /// Starts the thread that takes a row a second, once. A dump does not change.
    pub(crate) fn start_sampling(self: &Arc<Self>) -> Result<(), DashError> {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        if bell.is_none() && self.settings.dump.is_none() {
            *bell = Some(crate::sampler::start(self)?);
        }
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let bell = self.bell.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(bell) = bell.take() {
            bell.ring();
        }
    }
}
