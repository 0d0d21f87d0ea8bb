//! Authorization header values that need no round trip.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyperscale_plan::template::{Escape, FillError, Scope, Template};

/// The value of `authorization` for user and password (RFC 7617).
pub(crate) fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Writes that value for a user and a password that are filled per call.
pub(crate) fn fill_basic(
    user: &Template,
    password: &Template,
    scope: &impl Scope,
    out: &mut Vec<u8>,
) -> Result<(), FillError> {
    let mut pair = Vec::new();
    user.fill(scope, Escape::None, &mut pair)?;
    pair.push(b':');
    password.fill(scope, Escape::None, &mut pair)?;
    out.extend_from_slice(b"Basic ");
    out.extend_from_slice(STANDARD.encode(pair).as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_password_are_encoded() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
