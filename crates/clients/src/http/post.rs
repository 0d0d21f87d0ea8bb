//! One request after the other to the same place, each with a body of its own: what exporters send.
//!
//! It is the same call as in a run, over a connection that is kept. Preparing anew for every body costs some
//! microseconds, once per second. Nothing here is hot, nothing is repeated, no redirect is followed.

use std::rc::Rc;
use std::sync::Arc;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, Dns, HttpVersion, Limits, Reuse, StatusSet, Tls, Transport};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::Template;
use hyperscale_types::{ByteSize, Span};

use crate::contract::{PrepareError, Protocol, Terms};
use crate::http::call::call;
use crate::http::client::HttpClient;
use crate::http::request::url::{Url, UrlError};
use crate::http::session::Session;
use crate::known::{Known, Nothing};
use crate::network::Network;
use crate::outcome::{CallError, Progress};
use crate::shared::{ClientOptions, Shared};

/// Bytes of an answer: an acknowledgement, or a few words about what was wrong.
const ANSWER_MAX: ByteSize = ByteSize(64 << 10);

/// A place that bodies are posted to.
pub struct Post {
    client: Rc<HttpClient>,
    session: Session,
    request: HttpRequest,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whatever it was.
    pub status: u16,
    /// At most some kilobytes.
    pub body: Vec<u8>,
}

/// Why nothing came back. Whether the body has arrived is unknown.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The request could not be made: TLS has no certificates to trust, or a field cannot stand in a head.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The peer could not be reached, or did not answer in time.
    #[error("{0}")]
    Call(CallError),
}

impl Post {
    /// Requests with these fields to this URL, whose user and password are sent along. `timeout` bounds each of them.
    pub fn new(url: &str, fields: &[(String, String)], timeout: Span) -> Result<Self, UrlError> {
        Url::parse(url)?;
        let field = |(name, value): &(String, String)| (name.to_ascii_lowercase(), Template::constant(value));
        let request = HttpRequest {
            method: "POST".to_owned(),
            url: Template::constant(url),
            query: vec![],
            headers: fields.iter().map(field).collect(),
            cookies: vec![],
            body: Body::Empty,
            auth: None,
            transport: Transport {
                version: HttpVersion::Http1,
                reuse: Reuse::Vu,
                connections: None,
                tls: Tls::default(),
                proxy: None,
                unix: None,
                dns: Dns::PerConnection,
                source: vec![],
            },
            // What the peer says is read whatever its status.
            expect: StatusSet(vec![(0, u16::MAX)]),
            limits: Limits { timeout, connect_timeout: timeout, redirects: 0, max_body: Some(ANSWER_MAX) },
            retry: None,
            cookie_jar: false,
            compression: false,
            stream: None,
        };
        // Nothing is drawn: no part of such a request is random.
        let client = HttpClient::new(Shared::new(Network::System, ClientOptions::default()));
        Ok(Self { client, session: Session::new(), request })
    }

    /// Sends a body and waits for the answer.
    pub async fn send(&self, body: Arc<[u8]>) -> Result<Answer, PostError> {
        let needs = Needs { result: true, headers: false, body: true };
        let request = HttpRequest { body: Body::Bytes(body), ..self.request.clone() };
        let terms = Terms { needs, timeout: None };
        let prepared = self.client.prepare(&request, terms, &Known::new(&Nothing, &|_| true)).await?;
        let outcome = call(&self.client, &self.session, &prepared, &Nothing, &Progress::default()).await;
        match outcome.error {
            Some(error) => Err(PostError::Call(error)),
            None => Ok(Answer {
                status: outcome.status.unwrap_or_default(),
                body: outcome.response.map(|response| response.body).unwrap_or_default(),
            }),
        }
    }
}
