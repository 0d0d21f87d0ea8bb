//! What one virtual user keeps between calls: connections, timers, cookies.
//!
//! Forked steps of one virtual user call at the same time, so everything is taken out for a call and put back after
//! it; nothing is borrowed across an await. An idle session of one connection is a few hundred bytes.

use std::cell::RefCell;

use hyperscale_plan::model::http::Reuse;
use tokio::time::Instant;

use super::connection::Connection;
use super::deadline::Deadline;
use super::network::{Network, TokioNetwork};

/// Idle connections kept; beyond that the one unused for longest is closed.
const IDLE_MAX: usize = 64;
/// Timers kept: one for each call at the same time.
const TIMERS_MAX: usize = 64;

/// Connections, cookies and authentication state of one virtual user.
pub struct Session<N: Network = TokioNetwork> {
    idle: RefCell<Vec<Idle<N::Stream>>>,
    timers: RefCell<Vec<Deadline>>,
}

struct Idle<S> {
    route: u32,
    /// Closed at the end of the iteration.
    iteration: bool,
    connection: Connection<S>,
}

impl<N: Network> Default for Session<N> {
    fn default() -> Self {
        Session { idle: RefCell::default(), timers: RefCell::default() }
    }
}

impl<N: Network> Session<N> {
    /// A session without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Closes the connections that live as long as an iteration.
    pub fn end_iteration(&self) {
        self.idle.borrow_mut().retain(|idle| !idle.iteration);
    }

    /// Takes the connection used last on a route.
    pub(crate) fn take(&self, route: u32) -> Option<Connection<N::Stream>> {
        let mut idle = self.idle.borrow_mut();
        let at = idle.iter().rposition(|idle| idle.route == route)?;
        Some(idle.remove(at).connection)
    }

    /// Keeps a connection for the next call, if it may live that long.
    pub(crate) fn put(&self, route: u32, reuse: Reuse, connection: Connection<N::Stream>) {
        let iteration = match reuse {
            Reuse::Call => return,
            Reuse::Iteration => true,
            Reuse::Vu => false,
        };
        let mut idle = self.idle.borrow_mut();
        if idle.len() == IDLE_MAX {
            idle.remove(0);
        }
        // Most sessions have one connection, and there are very many sessions.
        idle.reserve_exact(1);
        idle.push(Idle { route, iteration, connection });
    }

    /// A timer for a call that must end at `at`.
    pub(crate) fn deadline(&self, at: Instant) -> Deadline {
        match self.timers.borrow_mut().pop() {
            None => Deadline::new(at),
            Some(mut timer) => {
                timer.set(at);
                timer
            }
        }
    }

    /// Keeps a timer for the next call.
    pub(crate) fn put_deadline(&self, deadline: Deadline) {
        let mut timers = self.timers.borrow_mut();
        if timers.len() < TIMERS_MAX {
            timers.reserve_exact(1);
            timers.push(deadline);
        }
    }
}
