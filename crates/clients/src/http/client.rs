//! The HTTP client of one core: what its calls share beyond what all protocols do.

use std::cell::RefCell;
use std::rc::Rc;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::template::Scope;

use super::auth::token::Tokens;
use super::call::call;
use super::h2::SpareBuffer;
use super::request::prepare::Prepared;
use super::route::Routes;
use super::session::Session;
use crate::contract::{PrepareError, Protocol, Terms};
use crate::known::Known;
use crate::outcome::{Outcome, Progress};
use crate::shared::Shared;

/// A larger scratch buffer is given back after use: one huge body must not stay allocated for the whole run.
const SCRATCH_BYTES_KEPT: usize = 1 << 20;

/// The HTTP client of one core: buffers, routes with their TLS configurations, tokens.
pub struct HttpClient {
    pub(crate) shared: Rc<Shared>,
    pub(crate) scratch: RefCell<Scratch>,
    /// Of HTTP/2 connections.
    pub(crate) spare: SpareBuffer,
    pub(crate) routes: Routes,
    pub(crate) tokens: Tokens,
}

/// Buffers that a request is filled into. Borrowed within one poll only: the next call overwrites them.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The whole request.
    pub(crate) request: Vec<u8>,
    /// Its body, while its length is not known.
    pub(crate) body: Vec<u8>,
    /// Its URL, while its origin is not known.
    pub(crate) url: Vec<u8>,
    /// Fields that only the call knows.
    pub(crate) extra: Vec<u8>,
}

impl Scratch {
    /// Makes the buffers empty, and small if they have become huge.
    pub(crate) fn clear(&mut self) {
        for buffer in [&mut self.request, &mut self.body, &mut self.url, &mut self.extra] {
            buffer.clear();
            if buffer.capacity() > SCRATCH_BYTES_KEPT {
                buffer.shrink_to(SCRATCH_BYTES_KEPT);
            }
        }
    }
}

impl Protocol for HttpClient {
    type Call = HttpRequest;
    type Prepared = Prepared;
    type Session = Session;

    fn new(shared: Rc<Shared>) -> Rc<Self> {
        Rc::new(HttpClient {
            shared,
            scratch: RefCell::default(),
            spare: SpareBuffer::default(),
            routes: Routes::default(),
            tokens: Tokens::default(),
        })
    }

    async fn prepare<S: Scope>(
        self: &Rc<Self>,
        call: &HttpRequest,
        terms: Terms,
        known: &Known<'_, S>,
    ) -> Result<Prepared, PrepareError> {
        Ok(Prepared::new(self, call, terms, known).await?)
    }

    #[inline]
    fn call<S: Scope>(
        &self,
        session: &Session,
        prepared: &Prepared,
        scope: &S,
        progress: &Progress,
    ) -> impl Future<Output = Outcome> {
        call(self, session, prepared, scope, progress)
    }

    #[inline]
    fn end_iteration(session: &Session) {
        session.end_iteration();
    }
}
