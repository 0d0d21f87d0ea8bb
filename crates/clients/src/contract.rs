//! The contract that every protocol fulfils, and the one place that lists them.
//!
//! ```text
//! per core      Clients ── prepare(plan's call, terms, known) ──► Prepared        once, before measuring
//! per VU        Session                                                         connections, cookies, state
//! per request   Clients::call(session, prepared, scope, progress) ──► Outcome   into reused buffers
//! ```
//! A call is made and described here; recording it is the caller's business, who may make several and record one.
//! Dispatch is static: a protocol is a folder that implements [`Protocol`], and one line in the list below.

use std::future::Future;
use std::rc::Rc;

use hyperscale_plan::model::Call;
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::Scope;
use hyperscale_types::Span;

use crate::known::Known;
use crate::network::Network;
use crate::outcome::{Outcome, Progress};
use crate::shared::{ClientOptions, Shared};

/// A protocol's client on one core.
pub trait Protocol: Sized {
    /// What the plan says about a call.
    type Call;
    /// A call prepared for one core: everything that is the same for every request is done.
    type Prepared;
    /// What one virtual user keeps between calls. Thousands of them exist: an unused one must be small.
    type Session: Default;

    /// A client without connections.
    fn new(shared: Rc<Shared>) -> Rc<Self>;

    /// Prepares a call, before measuring starts.
    fn prepare<S: Scope>(
        self: &Rc<Self>,
        call: &Self::Call,
        terms: Terms,
        known: &Known<'_, S>,
    ) -> impl Future<Output = Result<Self::Prepared, PrepareError>>;

    /// Performs a call. Dropping the future cancels it; `progress` then tells how far it got. Compares
    /// [`Shared::lease`] immediately before each request leaves. One that left is sent again only if the plan says so and
    /// the peer provably has not processed it; that is counted.
    fn call<S: Scope>(
        &self,
        session: &Self::Session,
        prepared: &Self::Prepared,
        scope: &S,
        progress: &Progress,
    ) -> impl Future<Output = Outcome>;

    /// Closes what lives as long as an iteration.
    fn end_iteration(_session: &Self::Session) {}
}

/// What a step adds to its calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terms {
    /// What is needed of the response.
    pub needs: Needs,
    /// Bounds the call beside its own time-out.
    pub timeout: Option<Span>,
}

/// Why a call cannot be prepared. Nothing was measured; the plan, its files or a server it needs must change.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PrepareError {
    /// What is wrong, for people.
    pub message: String,
    /// A peer that is needed for preparation could not be reached: the plan itself may be fine.
    pub is_unreachable: bool,
}

macro_rules! protocols {
    ($($(#[doc = $doc:literal])+ $(#[cfg($($cfg:tt)+)])? $field:ident: $variant:ident($client:ty),)+) => {
        /// The clients of one core, one per protocol.
        pub struct Clients {
            $($(#[cfg($($cfg)+)])? $field: Rc<$client>,)+
        }

        /// A call prepared for one core.
        pub enum Prepared {
            $($(#[doc = $doc])+ $(#[cfg($($cfg)+)])? $variant(<$client as Protocol>::Prepared),)+
        }

        /// What one virtual user keeps between calls, per protocol.
        #[derive(Default)]
        pub struct Session {
            $($(#[cfg($($cfg)+)])? $field: <$client as Protocol>::Session,)+
        }

        impl Clients {
            /// Clients without connections.
            pub fn new(network: impl Into<Network>, options: ClientOptions) -> Self {
                let shared = Shared::new(network, options);
                Clients { $($(#[cfg($($cfg)+)])? $field: <$client as Protocol>::new(Rc::clone(&shared)),)+ }
            }

            /// Prepares a call of the plan.
            pub async fn prepare<S: Scope>(
                &self,
                call: &Call,
                terms: Terms,
                known: &Known<'_, S>,
            ) -> Result<Prepared, PrepareError> {
                match call {
                    $($(#[cfg($($cfg)+)])? Call::$variant(call) => {
                        self.$field.prepare(call, terms, known).await.map(Prepared::$variant)
                    })+
                }
            }

            /// Performs a prepared call. Dropping the future cancels it; `progress` then tells how far it got.
            #[inline]
            pub async fn call<S: Scope>(
                &self,
                session: &Session,
                prepared: &Prepared,
                scope: &S,
                progress: &Progress,
            ) -> Outcome {
                match prepared {
                    $($(#[cfg($($cfg)+)])? Prepared::$variant(prepared) => {
                        self.$field.call(&session.$field, prepared, scope, progress).await
                    })+
                }
            }
        }

        impl Session {
            /// Closes what lives as long as an iteration.
            #[inline]
            pub fn end_iteration(&self) {
                $($(#[cfg($($cfg)+)])? <$client as Protocol>::end_iteration(&self.$field);)+
            }
        }
    };
}

protocols! {
    /// HTTP/1.1 and HTTP/2.
    http: Http(crate::http::HttpClient),
    /// For tests.
    #[cfg(feature = "test-protocol")]
    echo: Echo(crate::echo::EchoClient),
}
