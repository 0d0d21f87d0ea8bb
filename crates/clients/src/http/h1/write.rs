//! A filled request in HTTP/1.1 form (RFC 9112, section 3).

use crate::http::request::extra::Extra;
use crate::http::request::message::Message;
use crate::http::request::template::COOKIE;
use crate::http::request::url::Url;
use crate::http::route::Route;
use crate::outcome::CallError;

/// Writes a request as it is sent along a route.
pub(crate) fn write(
    message: &Message,
    route: &Route,
    extra: &Extra,
    out: &mut Vec<u8>,
) -> Result<(), CallError> {
    let url = message.url()?;
    out.extend_from_slice(message.method().as_bytes());
    out.push(b' ');
    write_target(&url, route, out);
    out.extend_from_slice(b" HTTP/1.1\r\n");
    if message.fields().all("host").next().is_none() {
        out.extend_from_slice(b"host: ");
        url.write_authority(out);
        out.extend_from_slice(b"\r\n");
    }
    if let Some(value) = route.forwarding_credentials() {
        write_field("proxy-authorization", value.as_bytes(), out);
    }
    for (name, value) in message.fields().iter().filter(|(name, _)| *name != COOKIE) {
        write_field(name, value, out);
    }
    if let Some(value) = &extra.authorization {
        write_field("authorization", value.as_bytes(), out);
    }
    let cookies = extra.all_cookies(message);
    if !cookies.is_empty() {
        write_field(COOKIE, &cookies, out);
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(message.body());
    Ok(())
}

/// The target of a request as it is sent along a route: the whole URL for a proxy that forwards it.
pub(crate) fn write_target(url: &Url<'_>, route: &Route, out: &mut Vec<u8>) {
    if route.is_forwarded() {
        out.extend_from_slice(b"http://");
        url.write_authority(out);
    }
    url.write_target(out);
}

fn write_field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}
