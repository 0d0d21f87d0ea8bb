//! What an answer asks for beyond being recorded: cookies to keep, redirects to follow,
//! challenges to answer, bodies to decode. The cold part of a call, boxed.

use hyperscale_plan::template::Scope;
use hyperscale_types::ErrorKind;

use crate::http::auth::digest::Challenge;
use crate::http::call::{self, Flight, Sent};
use crate::http::dispatch::{self, Dispatch};
use crate::http::h1::exchange::Request;
use crate::http::h1::reader::Reader;
use crate::http::h1::write;
use crate::http::request::extra::{Credentials, Extra};
use crate::http::request::message::Message;
use crate::http::response::collect::Found;
use crate::http::response::decode::{Codings, DecodeError};
use crate::http::retry;
use crate::http::route::Route;
use crate::outcome::CallError;

/// Follows up on what `sent` left to do, until nothing is.
pub(crate) async fn follow<'a, S: Scope>(
    flight: &mut Flight<'a>,
    mut dispatch: Dispatch<'a>,
    sent: Result<Sent, CallError>,
    scope: &S,
) -> Result<(), CallError> {
    if retry::retry(flight, &mut dispatch, sent, scope).await? == Sent::WantsParts {
        let sent = call::send_parts(flight, &mut dispatch, scope).await;
        retry::retry(flight, &mut dispatch, sent, scope).await?;
    }
    let mut message = first(flight, &mut dispatch, scope)?;
    let (mut redirects, mut answered) = (0, false);
    while let Some(found) = flight.collector.take_found() {
        keep_cookies(flight, &message, &found)?;
        if let Some(location) = &found.location {
            if redirects == flight.prepared.limits.redirects {
                return Err(CallError::protocol(format!("more than {redirects} redirects")));
            }
            redirects += 1;
            message = message.redirected(flight.reader.status().unwrap_or_default(), location)?;
        } else if !answered && takes_challenge(flight, &dispatch.route, &message, &found, scope)? {
            answered = true;
        } else {
            return decode_body(flight, &found);
        }
        flight.client.shared.lease.check_now()?;
        dispatch = next(flight, &dispatch, &message, scope)?;
        let sent = call::send(flight, &mut dispatch).await;
        retry::retry(flight, &mut dispatch, sent, scope).await?;
    }
    Ok(())
}

/// Whether there is a challenge that the next request can answer. Only the origin that the plan names gets to know what the
/// credentials give.
fn takes_challenge(
    flight: &Flight<'_>,
    route: &Route,
    message: &Message,
    found: &Found,
    scope: &impl Scope,
) -> Result<bool, CallError> {
    let Flight { client, session, prepared, .. } = flight;
    let Some(credentials) = prepared.digest.as_deref().filter(|_| message.is_at_first_origin()) else {
        return Ok(false);
    };
    let fields = found.challenges.iter().filter_map(|field| std::str::from_utf8(field).ok());
    let Ok(challenge) = Challenge::select(fields) else {
        return Ok(false);
    };
    let client_nonce = format!("{:016x}{:016x}", client.shared.random(), client.shared.random());
    Ok(session.challenge(&Credentials::fill(credentials, scope)?.at(route), challenge, &client_nonce))
}

/// Undoes the content codings of a body that is needed. A coding that was not asked for and that we do not know leaves
/// it as it is.
fn decode_body(flight: &mut Flight<'_>, found: &Found) -> Result<(), CallError> {
    let Some(body) = flight.collector.body_mut() else {
        return Ok(());
    };
    let mut codings = Codings::default();
    for field in &found.encodings {
        match codings.add(field) {
            Ok(()) => {}
            Err(DecodeError::Unknown) => return Ok(()),
            Err(error) => return Err(undecodable(error)),
        }
    }
    let limit = usize::try_from(flight.prepared.limits.max_body).unwrap_or(usize::MAX - 1);
    *body = codings.decode(std::mem::take(body), limit).map_err(undecodable)?;
    Ok(())
}

fn undecodable(error: DecodeError) -> CallError {
    let kind = if error == DecodeError::TooLarge { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    CallError::new(kind, error.to_string())
}

/// The request that was sent, without what only that one had.
fn first(flight: &Flight<'_>, dispatch: &mut Dispatch<'_>, scope: &impl Scope) -> Result<Message, CallError> {
    match dispatch.message.take() {
        Some(message) => Ok(message.0),
        None => dispatch::fill_message(flight.client, flight.prepared, scope),
    }
}

/// Keeps the cookies of an answer. Those that the jar refuses are not an error of the call.
fn keep_cookies(flight: &Flight<'_>, message: &Message, found: &Found) -> Result<(), CallError> {
    let url = message.url()?;
    let now_s = flight.client.shared.unix_s(flight.meter.since);
    let mut jar = flight.session.cookies.borrow_mut();
    for set_cookie in &found.set_cookies {
        let _refused = jar.store(&url, set_cookie, now_s);
    }
    Ok(())
}

/// Everything ready for the next hop.
fn next<'a>(
    flight: &mut Flight<'_>,
    before: &Dispatch<'_>,
    message: &Message,
    scope: &impl Scope,
) -> Result<Dispatch<'a>, CallError> {
    let client = flight.client;
    let route = client.routes.route(&before.route.link, &message.url()?, || client.shared.random());
    let mut extra = Extra::default();
    if flight.prepared.cookie_jar {
        let now_s = client.shared.unix_s(flight.meter.since);
        flight.session.cookies.borrow().write_header(&message.url()?, now_s, &mut extra.cookies);
    }
    // What answers a challenge holds for one method and target: each hop has its own.
    if let Some(credentials) = flight.prepared.digest.as_deref().filter(|_| message.is_at_first_origin()) {
        let mut target = Vec::new();
        write::write_target(&message.url()?, &route, &mut target);
        let (credentials, target) =
            (Credentials::fill(credentials, scope)?, String::from_utf8_lossy(&target));
        extra.authorization = flight.session.authorize(&credentials.at(&route), message.method(), &target);
    }
    (flight.answered, flight.opened) = (true, false);
    flight.reader = Reader::new(message.is_head(), flight.prepared.limits.max_body);
    flight.collector.reset();
    let message = Some(Box::new((message.clone(), extra)));
    Ok(Dispatch { route, request: Request::Scratch, message })
}
