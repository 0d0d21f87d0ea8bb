//! OAuth 2 access tokens at work: fetched in preparation through this very client, once for all requests of the process
//! that ask for the same, and renewed by a task of their own, so that no call ever waits for one.
//!
//! A server may take refresh tokens back when they were used, and may count tokens: cores that each had one would
//! look like as many clients. Each core has a copy of the newest token, so that calls share no memory with other cores.

use std::cell::RefCell;
use std::rc::{self, Rc};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::model::http::{Body, HttpVersion, Limits, OAuth2, Reuse, StatusSet, Transport};
use hyperscale_plan::model::step::Needs;
use hyperscale_plan::template::Template;
use hyperscale_types::ByteSize;
use hyperscale_types::limits::{CALL_TIMEOUT, REDIRECTS_MAX};
use tokio::task::JoinHandle;

use crate::clock;
use crate::contract::Terms;
use crate::http::auth::oauth2::{FORM_MEDIA_TYPE, TOKEN_BODY_MAX, Token, TokenError, token_form};
use crate::http::call::call;
use crate::http::client::HttpClient;
use crate::http::request::prepare::{PrepareError, Prepared};
use crate::http::session::Session;
use crate::known::{Known, Nothing};
use crate::outcome::Progress;

/// A token is renewed after this part of its life, in per cent.
const RENEW_AFTER_PERCENT: u32 = 80;
/// A renewal that failed is tried again after this time.
const RETRY_AFTER: Duration = Duration::from_secs(5);
/// No token is renewed more often than this, however short its life.
const RENEW_AFTER_MIN: Duration = Duration::from_millis(500);

/// Tokens that are in use in this process, by what they were asked for with.
static IN_USE: Mutex<Vec<(OAuth2, Weak<SharedToken>)>> = Mutex::new(Vec::new());

/// An access token that all cores of the process use.
#[derive(Default)]
struct SharedToken {
    /// Held by the core that fetches or renews it; the others wait for what it brings.
    turn: tokio::sync::Mutex<()>,
    newest: Mutex<Option<Token>>,
}

impl SharedToken {
    /// The token for these settings, perhaps not fetched yet.
    fn of(settings: &OAuth2) -> Arc<Self> {
        let mut tokens = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        tokens.retain(|(_, token)| token.strong_count() > 0);
        let known = tokens.iter().find(|(known, _)| known == settings).and_then(|(_, token)| token.upgrade());
        known.unwrap_or_else(|| {
            let token = Arc::<SharedToken>::default();
            tokens.push((settings.clone(), Arc::downgrade(&token)));
            token
        })
    }

    fn newest(&self) -> Option<Token> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, token: &Token) {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.clone());
    }
}

/// A core's copy of an access token. It is renewed in the background until it is dropped.
pub(crate) struct FreshToken {
    token: RefCell<Token>,
    shared: Arc<SharedToken>,
    /// Ends with the token.
    renewal: RefCell<Option<JoinHandle<()>>>,
}

impl FreshToken {
    /// Appends the value of `authorization`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.token.borrow().authorization.as_bytes());
    }
}

impl Drop for FreshToken {
    fn drop(&mut self) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
    }
}

/// Tokens that are in use on a core.
#[derive(Default)]
pub(crate) struct Tokens(RefCell<Vec<(OAuth2, rc::Weak<FreshToken>)>>);

impl Tokens {
    fn find(&self, settings: &OAuth2) -> Option<Rc<FreshToken>> {
        let mut tokens = self.0.borrow_mut();
        tokens.retain(|(_, token)| token.strong_count() > 0);
        tokens.iter().find(|(known, _)| known == settings).and_then(|(_, token)| token.upgrade())
    }
}

/// The token for these settings, fetched unless the process has it.
pub(crate) async fn token(
    client: &Rc<HttpClient>,
    settings: &OAuth2,
    transport: &Transport,
) -> Result<Rc<FreshToken>, PrepareError> {
    if let Some(token) = client.tokens.find(settings) {
        return Ok(token);
    }
    let shared = SharedToken::of(settings);
    let turn = shared.turn.lock().await;
    let token = match shared.newest() {
        Some(token) => token,
        None => fetch(client, settings, transport, None).await?,
    };
    shared.set(&token);
    drop(turn);
    let expires = token.expires_s.is_some();
    let fresh = Rc::new(FreshToken { token: RefCell::new(token), shared, renewal: RefCell::default() });
    if expires {
        let renewal =
            renew(Rc::downgrade(client), Rc::downgrade(&fresh), settings.clone(), transport.clone());
        *fresh.renewal.borrow_mut() = Some(tokio::task::spawn_local(renewal));
    }
    client.tokens.0.borrow_mut().push((settings.clone(), Rc::downgrade(&fresh)));
    Ok(fresh)
}

/// Renews a token until nobody holds it; a renewal that fails is tried again while the old token is still used. Holds
/// neither core nor token while it sleeps.
async fn renew(
    client: rc::Weak<HttpClient>,
    fresh: rc::Weak<FreshToken>,
    settings: OAuth2,
    transport: Transport,
) {
    while let Some(pause) = pause(&client, &fresh) {
        tokio::time::sleep(pause).await;
        while let (Some(client), Some(fresh)) = (client.upgrade(), fresh.upgrade()) {
            if renew_once(&client, &fresh, &settings, &transport).await {
                break;
            }
            drop((client, fresh));
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

/// Renews a token, unless another core has done so. Whether this core has a newer one now.
async fn renew_once(
    client: &Rc<HttpClient>,
    fresh: &FreshToken,
    settings: &OAuth2,
    transport: &Transport,
) -> bool {
    let _turn = fresh.shared.turn.lock().await;
    let own = fresh.token.borrow().clone();
    let mut newest = fresh.shared.newest().unwrap_or_else(|| own.clone());
    if newest.authorization == own.authorization {
        match fetch(client, settings, transport, Some(&newest)).await {
            // A peer that gives no new refresh token means the old one to be used again.
            Ok(token) => {
                let refresh_token = token.refresh_token.or(newest.refresh_token);
                newest = Token { refresh_token, ..token };
            }
            // What is refused with a refresh token may be granted without it. After any other failure it is still good.
            Err(PrepareError::Token { error: TokenError::InvalidGrant(_), .. }) => {
                newest.refresh_token = None;
            }
            Err(_) => return false,
        }
        fresh.shared.set(&newest);
    }
    let is_renewed = newest.authorization != own.authorization || newest.expires_s != own.expires_s;
    *fresh.token.borrow_mut() = newest;
    is_renewed
}

/// How long until a token is to be renewed; `None` if nobody holds it or it does not expire.
fn pause(client: &rc::Weak<HttpClient>, fresh: &rc::Weak<FreshToken>) -> Option<Duration> {
    let now_s = client.upgrade()?.shared.unix_s(clock::now());
    let life = Duration::from_secs(fresh.upgrade()?.token.borrow().expires_s?.saturating_sub(now_s));
    Some((life * RENEW_AFTER_PERCENT / 100).max(RENEW_AFTER_MIN))
}

/// Asks for a token. `before`: the one that is to be renewed.
async fn fetch(
    client: &Rc<HttpClient>,
    settings: &OAuth2,
    transport: &Transport,
    before: Option<&Token>,
) -> Result<Token, PrepareError> {
    let request = request(settings, transport, before);
    let needs = Needs { result: true, headers: false, body: true };
    // Boxed, because preparing this request is preparing a request.
    let terms = Terms { needs, timeout: None };
    let known = Known::new(&Nothing, &|_| true);
    let prepared = Box::pin(Prepared::new(client, &request, terms, &known)).await?;
    let outcome = Box::pin(call(client, &Session::new(), &prepared, &Nothing, &Progress::default())).await;
    let url = settings.token_url.clone();
    if let Some(error) = outcome.error {
        return Err(PrepareError::TokenCall { url, error });
    }
    let body = outcome.response.map(|response| response.body).unwrap_or_default();
    let token = Token::parse(outcome.status.unwrap_or_default(), &body, client.shared.unix_s(outcome.ended));
    token.map_err(|error| PrepareError::Token { url, error })
}

fn request(settings: &OAuth2, transport: &Transport, before: Option<&Token>) -> HttpRequest {
    let form = token_form(settings, before);
    let field = |name: &str, value: &str| (name.to_owned(), Template::constant(value));
    HttpRequest {
        method: "POST".to_owned(),
        url: Template::constant(&settings.token_url),
        query: vec![],
        headers: vec![field("accept", "application/json"), field("content-type", FORM_MEDIA_TYPE)],
        cookies: vec![],
        body: Body::Text(Template::constant(&String::from_utf8_lossy(&form))),
        auth: None,
        transport: Transport {
            version: HttpVersion::Http1,
            reuse: Reuse::Call,
            connections: None,
            unix: None,
            ..transport.clone()
        },
        // What the endpoint says is read whatever its status.
        expect: StatusSet(vec![(200, 599)]),
        limits: Limits {
            timeout: CALL_TIMEOUT,
            connect_timeout: CALL_TIMEOUT,
            redirects: REDIRECTS_MAX,
            max_body: Some(ByteSize(TOKEN_BODY_MAX as u64)),
        },
        retry: None,
        cookie_jar: false,
        compression: false,
        stream: None,
    }
}
