//! Names to addresses: once per run and core, or for every connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hyperscale_plan::model::http::Dns;
use tokio::sync::Mutex;

use crate::errors;
use crate::http::shared::HttpCore;
use crate::outcome::CallError;

/// Names remembered per core; a plan that makes up more begins again.
const NAMES_MAX: usize = 4096;
/// A name that did not resolve is not asked for again within this time.
const FAILURE_KEPT: Duration = Duration::from_secs(1);

/// Names that were resolved.
#[derive(Default)]
pub(crate) struct Names(RefCell<HashMap<Box<str>, Rc<Name>>>);

/// A name; the lock makes calls that need it at the same time wait for one lookup.
#[derive(Default)]
struct Name(Mutex<Lookup>);

#[derive(Default)]
enum Lookup {
    #[default]
    Never,
    Found(Rc<[IpAddr]>),
    Failed(CallError, Instant),
}

impl HttpCore {
    /// The addresses of a host: at least one.
    pub(crate) async fn addresses(&self, host: &str, when: Dns) -> Result<Rc<[IpAddr]>, CallError> {
        if let Ok(address) = host.parse() {
            return Ok(Rc::new([address]));
        }
        // Boxed, because all virtual users may open their connections at the same time.
        match when {
            Dns::PerConnection => Box::pin(self.look_up(host)).await,
            Dns::Once => Box::pin(self.look_up_once(host)).await,
        }
    }

    async fn look_up_once(&self, host: &str) -> Result<Rc<[IpAddr]>, CallError> {
        let name = self.names.entry(host);
        let mut lookup = name.0.lock().await;
        match &*lookup {
            Lookup::Found(addresses) => return Ok(Rc::clone(addresses)),
            Lookup::Failed(error, at) if at.elapsed() < FAILURE_KEPT => return Err(error.clone()),
            Lookup::Failed(..) | Lookup::Never => {}
        }
        let found = self.look_up(host).await;
        *lookup = match &found {
            Ok(addresses) => Lookup::Found(Rc::clone(addresses)),
            Err(error) => Lookup::Failed(error.clone(), Instant::now()),
        };
        found
    }

    async fn look_up(&self, host: &str) -> Result<Rc<[IpAddr]>, CallError> {
        match self.network.resolve(host).await {
            Ok(addresses) if addresses.is_empty() => Err(errors::dns_empty(host)),
            Ok(addresses) => Ok(addresses.into()),
            Err(error) => Err(errors::dns(host, &error)),
        }
    }
}

impl Names {
    fn entry(&self, host: &str) -> Rc<Name> {
        let mut names = self.0.borrow_mut();
        if let Some(name) = names.get(host) {
            return Rc::clone(name);
        }
        if names.len() >= NAMES_MAX {
            names.clear();
        }
        Rc::clone(names.entry(host.into()).or_default())
    }
}
