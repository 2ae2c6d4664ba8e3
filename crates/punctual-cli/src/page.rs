//! The page and `/metrics`: everything that has to do with `punctual-dash`, so that nothing else has.
//!
//! In: pools, an address. Out: a server that lives as long as the value.

use crate::args::ViewArgs;
use crate::batch::pools::Places;
use crate::interrupt;
use crate::outcome::{Failure, NO_ADDRESS, Outcome, WRONG_FILE};
use punctual_dash::{DashError, Dashboard, Server, Shown};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::channel;

/// A dump of more is no dump of ours, and the page would not take it: a recorder is bounded.
const MOST_BYTES: u64 = 64 << 20;

/// A page that is being served.
pub(crate) struct Page {
    dashboard: Dashboard,
    server: Server,
    /// By the number that a pool of this program has.
    shown: Vec<(u64, Shown)>,
}

impl Page {
    /// Serves these pools at an address: `host:port`, a port of 0 for any that is free.
    pub(crate) fn open(address: &str, places: &Places) -> Result<Page, Failure> {
        let address = parse(address)?;
        let dashboard = Dashboard::builder().bind(address).build().map_err(refused)?;
        let server = dashboard.serve().map_err(refused)?;
        let mut page = Page {
            dashboard,
            server,
            shown: Vec::new(),
        };
        page.show(places);
        Ok(page)
    }

    /// Shows these pools, and no other. Those that were shown before keep their history.
    pub(crate) fn show(&mut self, places: &Places) {
        self.shown.retain(|(number, shown)| {
            let stays = places.numbers.contains(number);
            if !stays {
                self.dashboard.remove(*shown);
            }
            stays
        });
        for (pool, number) in places.pools.iter().zip(&places.numbers) {
            if !self.shown.iter().any(|(other, _)| other == number) {
                self.shown.push((*number, self.dashboard.add(pool.control())));
            }
        }
    }

    /// The page with the token in it: who opens it may act.
    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }
}

fn parse(address: &str) -> Result<SocketAddr, Failure> {
    address.parse().map_err(|_| {
        Failure::new(
            NO_ADDRESS,
            format!("{address:?} is no address; write a number and a port, as in 127.0.0.1:7070 (port 0: any that is free)"),
        )
    })
}

fn refused(error: DashError) -> Failure {
    Failure::new(NO_ADDRESS, error.to_string())
}

/// `punctual view DUMP`: the page of a dump, until Ctrl-C.
pub(crate) fn view(args: &ViewArgs, json: bool, out: &mut dyn Write) -> Outcome {
    let cannot = |error: std::io::Error| {
        Failure::new(
            WRONG_FILE,
            format!("cannot read the dump {}: {error}", args.dump.display()),
        )
    };
    let mut text = String::new();
    let file = std::fs::File::open(&args.dump).map_err(cannot)?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(cannot)?;
    let address = parse(&args.bind)?;
    let dashboard = Dashboard::from_dump(text).bind(address).build();
    let dashboard =
        dashboard.map_err(|error| Failure::new(WRONG_FILE, format!("{}: {error}", args.dump.display())))?;
    let server = dashboard.serve().map_err(refused)?;
    let (tell, told) = channel();
    let _ears = interrupt::listen(false, move |_| {
        let _ = tell.send(());
    })?;
    if json {
        writeln!(out, "{}", serde_json::json!({ "url": server.url() }))?;
    } else {
        writeln!(out, "{}  (Ctrl-C ends it)", server.url())?;
    }
    out.flush()?;
    let _ = told.recv();
    server.shutdown();
    Ok(())
}
