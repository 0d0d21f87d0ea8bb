//! What one virtual user keeps between calls: connections, timers, cookies.
//!
//! Forked steps of one virtual user call at the same time, so everything is taken out for a call and put back after
//! it; nothing is borrowed across an await. An idle session of one connection is a few hundred bytes.

pub mod cookies;

use std::cell::RefCell;
use std::rc::Rc;

use hyperscale_plan::model::http::Reuse;
use hyperscale_types::Now;

use crate::deadline::Deadline;
use crate::http::auth::digest::{Challenge, DigestSession};
use crate::http::route::connection::Connection;
use crate::http::session::cookies::CookieJar;

/// Idle connections kept; beyond that an old one is closed.
const IDLE_MAX: usize = 64;
/// Digest challenges that are remembered: servers times users.
const DIGESTS_MAX: usize = 16;
/// Timers kept: one for each call at the same time.
const TIMERS_MAX: usize = 64;

/// Connections, cookies and authentication state of one virtual user.
#[derive(Default)]
pub struct Session {
    idle: RefCell<Vec<Idle>>,
    timers: RefCell<Vec<Deadline>>,
    pub(crate) cookies: RefCell<CookieJar>,
    digests: RefCell<Vec<Digest>>,
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

    /// Closes the connections that live as long as an iteration.
    #[inline]
    pub fn end_iteration(&self) {
        let mut idle = self.idle.borrow_mut();
        if idle.iter().any(|idle| idle.iteration) {
            idle.retain(|idle| !idle.iteration);
        }
    }

    /// Forgets all cookies.
    pub fn clear_cookies(&self) {
        self.cookies.borrow_mut().clear();
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

    /// Keeps a connection for the next call, if it may live that long.
    #[inline]
    pub(crate) fn put(&self, route: u32, reuse: Reuse, connection: Connection) {
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
        if idle.len() == IDLE_MAX {
            idle.remove(0);
        }
        push_exact(&mut idle, Idle { route, iteration, connection });
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
                timer.set(at);
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
