//! `http` and `webhook`: one request and its response.
//!
//! Both send the effect key as `Idempotency-Key`, the same for all attempts. `webhook` keeps the response of the first attempt that
//! succeeded under that key, so that a later attempt – after a crash between response and report – replays it and sends nothing.
//! Redirects are not followed: a response of 3xx is one that was not expected, unless `expect` says so.

mod client;
mod expect;
mod inputs;
mod response;

use async_trait::async_trait;
use serde_json::Value;

use self::client::{HttpClient, RequestError};
use self::inputs::Inputs;
use crate::runtime::{Context, Executor, Failure};
use crate::store::Effect;

pub use self::client::HttpSetupError;

/// The step whose key both send.
const STEP: &str = "request";

/// Sends one request; its result is the response.
#[derive(Clone, Debug)]
pub struct Http(HttpClient);

/// Sends one request, `POST` by default, whose response is kept for later attempts.
#[derive(Clone, Debug)]
pub struct Webhook(HttpClient);

impl Http {
    /// Trusts the authorities of the system, which are read when they are first needed.
    pub fn system() -> Self {
        Self(HttpClient::system())
    }

    /// Trusts these authorities, a PEM text, and no others.
    pub fn with_authorities(pem: &[u8]) -> Result<Self, HttpSetupError> {
        Ok(Self(HttpClient::with_authorities(pem)?))
    }
}

impl Webhook {
    /// Trusts the authorities of the system, which are read when they are first needed.
    pub fn system() -> Self {
        Self(HttpClient::system())
    }

    /// Trusts these authorities, a PEM text, and no others.
    pub fn with_authorities(pem: &[u8]) -> Result<Self, HttpSetupError> {
        Ok(Self(HttpClient::with_authorities(pem)?))
    }
}

#[async_trait]
impl Executor for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn schema(&self) -> Value {
        inputs::schema("GET")
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        Inputs::read(inputs, "GET").map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let inputs = Inputs::read(inputs, "GET").map_err(Failure::ForGood)?;
        request(&self.0, &inputs, context).await
    }
}

#[async_trait]
impl Executor for Webhook {
    fn name(&self) -> &'static str {
        "webhook"
    }

    fn schema(&self) -> Value {
        inputs::schema("POST")
    }

    fn check(&self, inputs: &Value) -> Result<(), String> {
        Inputs::read(inputs, "POST").map(drop)
    }

    async fn run(&self, inputs: &Value, context: &Context) -> Result<Value, Failure> {
        let inputs = Inputs::read(inputs, "POST").map_err(Failure::ForGood)?;
        if let Effect::Done(response) = context.begin_effect(STEP).await? {
            return Ok(response);
        }
        let response = request(&self.0, &inputs, context).await?;
        context.finish_effect(STEP, response.clone()).await?;
        Ok(response)
    }
}

/// Sends the request; what may pass is retried, everything else is for good.
async fn request(client: &HttpClient, inputs: &Inputs, context: &Context) -> Result<Value, Failure> {
    let key = context.effect_key(STEP);
    let sent = tokio::select! {
        sent = tokio::time::timeout(inputs.timeout, client.send(inputs, &key)) => sent,
        () = context.cancelled().cancelled() => return Err(Failure::Cancelled),
    };
    let response = match sent {
        Ok(Ok(response)) => response,
        Ok(Err(RequestError::Unusable(why))) => return Err(Failure::ForGood(inputs.describe(&why))),
        Ok(Err(RequestError::Failed(why))) => return Err(Failure::Retry(inputs.describe(&why))),
        Err(_) => {
            let why = format!("no response within {:?}", inputs.timeout);
            return Err(Failure::Retry(inputs.describe(&why)));
        }
    };
    if inputs.expect.has(response.status) {
        return Ok(inputs.secrets.mask_value(response.into_value()));
    }
    let why = inputs.describe(&response.refusal(&inputs.expect));
    Err(if response.may_pass() { Failure::Retry(why) } else { Failure::ForGood(why) })
}
