//! What one virtual user keeps between calls: connections, timers, cookies.
//!
//! Forked steps of one virtual user call at the same time, so everything is taken out for a call and put back after
//! it; nothing is borrowed across an await. An idle session of one connection is a few hundred bytes.

pub mod cookies;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use hyperscale_plan::model::http::{Resume, Reuse};
use hyperscale_types::Now;
use rustls::ClientConfig;

use crate::deadline::Deadline;
use crate::http::auth::digest::{Challenge, DigestSession};
use crate::http::route::Link;
use crate::http::route::connection::Connection;
use crate::http::session::cookies::CookieJar;
use crate::tls::{TlsError, with_own_sessions};

/// Idle connections that are kept whatever the number of hosts; beyond the larger of both an old one is closed.
const IDLE_MAX_LEAST: usize = 64;
/// Digest challenges that are remembered: servers times users.
const DIGESTS_MAX: usize = 16;
/// Timers kept: one for each call at the same time.
const TIMERS_MAX: usize = 64;

/// Connections, cookies and authentication state of one virtual user.
#[derive(Default)]
pub struct Session {
    idle: RefCell<Vec<Idle>>,
    /// Whether any idle connection is closed at the end of the iteration.
    ends_with_iteration: Cell<bool>,
    timers: RefCell<Vec<Deadline>>,
    pub(crate) cookies: RefCell<CookieJar>,
    digests: RefCell<Vec<Digest>>,
    /// TLS configurations with sessions of this virtual user.
    tls: RefCell<Vec<(Rc<Link>, Arc<ClientConfig>)>>,
}

struct Idle {
    route: u32,
    /// Closed at the end of the iteration.
    iteration: bool,
    connection: Connection,
}

/// A challenge that was answered, and for whom.
struct Digest {
    route: u32,
    user: Box<str>,
    password: Box<str>,
    session: DigestSession,
}

/// Who asks for access, and where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User<'a> {
    /// The server.
    pub(crate) route: u32,
    /// The user.
    pub(crate) name: &'a str,
    /// The password.
    pub(crate) password: &'a str,
}

impl Digest {
    fn is_of(&self, user: &User<'_>) -> bool {
        self.route == user.route && *self.user == *user.name && *self.password == *user.password
    }
}

impl Session {
    /// A session without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// The TLS configuration of a link. Where sessions are resumed within a virtual user it is one of its own.
    pub(crate) fn tls(&self, link: &Rc<Link>) -> Result<Arc<ClientConfig>, TlsError> {
        let shared = link.tls()?;
        if link.settings.tls.resume != Resume::Vu {
            return Ok(shared);
        }
        let mut own = self.tls.borrow_mut();
        if let Some((_, config)) = own.iter().find(|(of, _)| Rc::ptr_eq(of, link)) {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(with_own_sessions(&shared));
        push_exact(&mut own, (Rc::clone(link), Arc::clone(&config)));
        Ok(config)
    }

    /// Closes the connections that live as long as an iteration.
    #[inline]
    pub fn end_iteration(&self) {
        if self.ends_with_iteration.take() {
            self.idle.borrow_mut().retain(|idle| !idle.iteration);
        }
    }

    /// The connection used last on a route. One that takes exchanges side by side stays where it is.
    #[inline]
    pub(crate) fn take(&self, route: u32) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        loop {
            let at = idle.iter().rposition(|idle| idle.route == route)?;
            match &idle[at].connection {
                Connection::H2(connection) if connection.is_open() => {
                    return Some(Connection::H2(Rc::clone(connection)));
                }
                Connection::H2(_) => drop(idle.remove(at)),
                Connection::H1(_) => return Some(idle.swap_remove(at).connection),
            }
        }
    }

    /// Keeps a connection for the next call, if it may live that long. Calls go to `hosts` different hosts: each may have
    /// one, or every call would open a new connection.
    #[inline]
    pub(crate) fn put(&self, route: u32, reuse: Reuse, connection: Connection, hosts: usize) {
        let iteration = match reuse {
            Reuse::Call => return,
            Reuse::Iteration => true,
            Reuse::Vu => false,
        };
        let mut idle = self.idle.borrow_mut();
        // One multiplexed connection per route is enough.
        let multiplexed = matches!(connection, Connection::H2(_));
        if multiplexed && idle.iter().any(|idle| idle.route == route) {
            return;
        }
        if idle.len() >= IDLE_MAX_LEAST.max(hosts) {
            idle.remove(0);
        }
        if iteration {
            self.ends_with_iteration.set(true);
        }
        push_exact(&mut idle, Idle { route, iteration, connection });
    }

    /// Closes what is kept on a route.
    pub(crate) fn forget(&self, route: u32) {
        self.idle.borrow_mut().retain(|idle| idle.route != route);
    }

    /// Whether any server has asked for digest authentication.
    pub(crate) fn has_digests(&self) -> bool {
        !self.digests.borrow().is_empty()
    }

    /// The value of `authorization` for a server that has asked this user before.
    pub(crate) fn authorize(&self, user: &User<'_>, method: &str, target: &str) -> Option<String> {
        let mut digests = self.digests.borrow_mut();
        let digest = digests.iter_mut().find(|digest| digest.is_of(user))?;
        Some(digest.session.authorize(method, target))
    }

    /// Takes a server's challenge; whether answering it makes sense.
    pub(crate) fn challenge(&self, user: &User<'_>, challenge: Challenge, client_nonce: &str) -> bool {
        let mut digests = self.digests.borrow_mut();
        if let Some(digest) = digests.iter_mut().find(|digest| digest.is_of(user)) {
            return digest.session.renew(challenge, client_nonce);
        }
        if digests.len() == DIGESTS_MAX {
            digests.remove(0);
        }
        digests.push(Digest {
            route: user.route,
            user: user.name.into(),
            password: user.password.into(),
            session: DigestSession::new(challenge, user.name, user.password, client_nonce),
        });
        true
    }

    /// A timer for a call that starts `now` and must end at `at`.
    #[inline]
    pub(crate) fn deadline(&self, now: Now, at: Now) -> Deadline {
        match self.timers.borrow_mut().pop() {
            None => Deadline::new(now, at),
            Some(mut timer) => {
                timer.set(now, at);
                timer
            }
        }
    }

    /// Keeps a timer for the next call.
    #[inline]
    pub(crate) fn put_deadline(&self, deadline: Deadline) {
        let mut timers = self.timers.borrow_mut();
        if timers.len() < TIMERS_MAX {
            push_exact(&mut timers, deadline);
        }
    }
}

/// Appends without room for more: most sessions keep one of everything, and there are very many sessions.
#[inline]
fn push_exact<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(1);
    }
    list.push(item);
}
