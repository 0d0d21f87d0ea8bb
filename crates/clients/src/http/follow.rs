//! What an answer asks for beyond being recorded: cookies to keep, redirects to follow,
//! challenges to answer, bodies to decode. The cold part of a call, boxed.

use hyperscale_plan::template::Scope;
use hyperscale_types::ErrorKind;

use crate::http::auth::digest::Challenge;
use crate::http::call::{self, Dispatch, Flight};
use crate::http::h1::exchange::Request;
use crate::http::h1::reader::Reader;
use crate::http::request::extra::Credentials;
use crate::http::request::message::Message;
use crate::http::response::collect::Found;
use crate::http::response::decode::{Codings, DecodeError};
use crate::http::route::Route;
use crate::outcome::CallError;

/// Follows up on an answer until nothing is left to do.
pub(crate) async fn follow<S: Scope>(
    flight: &mut Flight<'_>,
    mut dispatch: Dispatch<'_>,
    scope: &S,
) -> Result<(), CallError> {
    let mut message = sent(flight, &dispatch, scope)?;
    let (mut redirects, mut answered) = (0, false);
    while let Some(found) = flight.collector.take_found() {
        keep_cookies(flight, &message, &found)?;
        if let Some(location) = &found.location {
            if redirects == flight.prepared.redirects {
                return Err(CallError::protocol(format!("more than {redirects} redirects")));
            }
            redirects += 1;
            message = message.redirected(flight.reader.status(), location)?;
        } else if !answered && answer_challenge(flight, &dispatch.route, &mut message, &found, scope)? {
            answered = true;
        } else {
            return decode_body(flight, &found);
        }
        dispatch = next(flight, &dispatch, &message)?;
        call::send(flight, &mut dispatch).await?;
    }
    Ok(())
}

/// Puts the answer to a challenge into the request, if there is a challenge that can be answered. Only the origin that
/// the plan names gets to know what the credentials give.
fn answer_challenge(
    flight: &Flight<'_>,
    route: &Route,
    message: &mut Message,
    found: &Found,
    scope: &impl Scope,
) -> Result<bool, CallError> {
    let Flight { core, session, prepared, .. } = flight;
    let Some(credentials) = prepared.digest.as_deref().filter(|_| message.is_at_first_origin()) else {
        return Ok(false);
    };
    let fields = found.challenges.iter().filter_map(|field| std::str::from_utf8(field).ok());
    let Ok(challenge) = Challenge::select(fields) else {
        return Ok(false);
    };
    let credentials = Credentials::fill(credentials, scope)?;
    let user = credentials.at(route);
    if !session.challenge(&user, challenge, &format!("{:016x}{:016x}", core.random(), core.random())) {
        return Ok(false);
    }
    let Some(value) = session.authorize(&user, message.method(), &message.target(route)?) else {
        return Ok(false);
    };
    message.set("authorization", value.into_bytes());
    Ok(true)
}

/// Undoes the content codings of a body that somebody needs. A coding that nobody asked for and we do not know leaves
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
    let limit = usize::try_from(flight.prepared.max_body).unwrap_or(usize::MAX - 1);
    *body = codings.decode(std::mem::take(body), limit).map_err(undecodable)?;
    Ok(())
}

fn undecodable(error: DecodeError) -> CallError {
    let kind = if error == DecodeError::TooLarge { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    CallError::new(kind, error.to_string())
}

/// The request that was sent, without what was added for that hop only.
fn sent(flight: &Flight<'_>, dispatch: &Dispatch<'_>, scope: &impl Scope) -> Result<Message, CallError> {
    match (dispatch.kept.as_deref(), flight.prepared.wire.as_constant()) {
        (Some(bytes), _) | (None, Some(bytes)) => Message::parse(bytes, &dispatch.route),
        (None, None) => {
            call::fill_scratch(flight.core, flight.prepared, scope)?;
            Message::parse(&flight.core.scratch.borrow().request, &dispatch.route)
        }
    }
}

/// Keeps the cookies of an answer. Those that the jar refuses are not an error of the call.
fn keep_cookies(flight: &Flight<'_>, message: &Message, found: &Found) -> Result<(), CallError> {
    let url = message.parsed_url()?;
    let now_s = flight.core.unix_s(flight.meter.since);
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
) -> Result<Dispatch<'a>, CallError> {
    let core = flight.core;
    let route = core.routes.route(&before.route.link, &message.parsed_url()?, || core.random());
    let now_s = core.unix_s(flight.meter.since);
    let bytes = message.encode(&route, &flight.session.cookies.borrow(), now_s)?;
    flight.reader = Reader::new(message.is_head(), flight.prepared.max_body);
    flight.collector.reset();
    Ok(Dispatch { route, request: Request::Owned(bytes), kept: None })
}
