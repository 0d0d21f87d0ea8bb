//! The connections that the virtual users of a core share on one route.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::rc::Rc;

use tokio::sync::Notify;

use super::H2Connection;

/// A fixed number of shared connections, opened when first needed and again when lost. New exchanges go to the one
/// with the fewest.
#[derive(Debug)]
pub struct H2Pool {
    size: NonZeroUsize,
    connections: RefCell<Vec<Rc<H2Connection>>>,
    /// Connections that are being opened.
    opening: Cell<usize>,
    /// A connection was opened, or could not be.
    changed: Notify,
}

impl H2Pool {
    /// A pool of `size` connections, none of them open.
    pub fn new(size: NonZeroUsize) -> Self {
        H2Pool { size, connections: RefCell::default(), opening: Cell::new(0), changed: Notify::new() }
    }

    /// The open connection with the fewest exchanges. While there are fewer than there should be, the caller opens one
    /// with `open`; a call that finds none open waits for those that are being opened.
    pub async fn connection<E>(
        &self,
        open: impl AsyncFnOnce() -> Result<H2Connection, E>,
    ) -> Result<Rc<H2Connection>, E> {
        loop {
            if let Some(connection) = self.at_hand() {
                return Ok(connection);
            }
            if self.is_short() {
                return self.open(open).await;
            }
            self.changed.notified().await;
        }
    }

    /// The open connection with the fewest exchanges, unless one is missing or none is open yet.
    pub fn at_hand(&self) -> Option<Rc<H2Connection>> {
        self.connections.borrow_mut().retain(|connection| connection.is_open());
        if self.is_short() {
            return None;
        }
        self.connections.borrow().iter().min_by_key(|connection| connection.load()).cloned()
    }

    fn is_short(&self) -> bool {
        self.connections.borrow().len() + self.opening.get() < self.size.get()
    }

    async fn open<E>(
        &self,
        open: impl AsyncFnOnce() -> Result<H2Connection, E>,
    ) -> Result<Rc<H2Connection>, E> {
        let opening = Opening::new(self);
        let connection = Rc::new(open().await?);
        self.connections.borrow_mut().push(Rc::clone(&connection));
        drop(opening);
        Ok(connection)
    }
}

/// Counts a connection that is being opened, also when its opener is dropped.
struct Opening<'a>(&'a H2Pool);

impl<'a> Opening<'a> {
    fn new(pool: &'a H2Pool) -> Self {
        pool.opening.set(pool.opening.get() + 1);
        Opening(pool)
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.opening.set(self.0.opening.get() - 1);
        self.0.changed.notify_waiters();
    }
}
