//! The routes: one `match` on the path, one function each.
//!
//! Routes decide what is answered, never how: they know neither sockets nor the version of HTTP, and they do not wait.

mod auth;
mod content;
mod control;
mod digest;
mod fault;
mod navigate;
mod stream;

pub(crate) use control::control;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::inject::Epoch;
use crate::options::Options;
use crate::reply::{Answer, Body, Refusal, Reply};
use crate::request::Request;

/// The body of `/` when no size was asked for.
pub(crate) const GREETING: &str = "Hello, World!";

/// Paths under this are about the target itself: not counted, never delayed, never failed.
pub(crate) const CONTROL_PREFIX: &str = "/__";

/// What the routes know about the target they belong to.
#[derive(Debug)]
pub(crate) struct Site {
    body_size: Option<u64>,
    /// Keys tokens and nonces; from the seed, so that runs can be repeated.
    secret: u64,
    issued: AtomicU64,
    epoch: Arc<Epoch>,
}

impl Site {
    pub(crate) fn new(options: &Options, epoch: Arc<Epoch>) -> Self {
        Self { body_size: options.body_size, secret: options.seed, issued: AtomicU64::new(0), epoch }
    }

    /// The answer of `/` and of every path without a route of its own.
    pub(crate) fn index(&self) -> Reply {
        match self.body_size {
            None => Reply::text(200, GREETING),
            Some(size) => Reply::new(200, Body::Fill(size)).header("content-type", "text/plain"),
        }
    }

    /// A number that no token or nonce of this target had before.
    fn next_number(&self) -> u64 {
        self.issued.fetch_add(1, Ordering::Relaxed)
    }
}

/// Whether the route wants to see the request's body; all others only skip it.
pub(crate) fn reads_body(path: &str) -> bool {
    matches!(path, "/echo" | "/oauth/token")
}

/// Decides what is answered to a request.
pub(crate) fn answer(request: &Request, site: &Site) -> Answer {
    dispatch(request, site).unwrap_or_else(|refusal| Reply::from(refusal).into())
}

fn dispatch(request: &Request, site: &Site) -> Result<Answer, Refusal> {
    let segments: Vec<&str> = request.path.split('/').skip(1).collect();
    let reply = match segments.as_slice() {
        ["status", code] => content::status(code)?,
        ["delay", ms] => content::delay(ms, site)?,
        ["bytes", count] => content::bytes(count)?,
        ["echo"] => content::echo(request),
        ["json"] => content::sample(),
        ["gzip"] => content::compressed("gzip"),
        ["br"] => content::compressed("br"),
        ["zstd"] => content::compressed("zstd"),
        ["chunked", count] => stream::chunked(count, request)?,
        ["sse"] => stream::events(request)?,
        ["drip"] => stream::drip(request)?,
        ["redirect", hops] => navigate::redirect(hops, request)?,
        ["redirect-to"] => navigate::redirect_to(request)?,
        ["cookies"] => navigate::cookies(request),
        ["cookies", "set"] => navigate::set_cookies(request)?,
        ["basic-auth", user, password] => auth::basic(request, user, password),
        ["digest-auth", user, password] => digest::digest(request, site, user, password)?,
        ["bearer"] => auth::bearer(request, site),
        ["token"] => auth::token(request, site)?,
        ["oauth", "token"] => auth::oauth(request, site)?,
        ["early-hints"] => return Ok(Answer::Fault(crate::reply::Fault::EarlyHints)),
        ["fault", name] => return fault::by_name(name, request),
        _ => site.index(),
    };
    Ok(reply.into())
}
