//! Lease tokens: `<task>.<fence>.<mac>`, what a client shows to renew, release or finish a lease.
//!
//! The right itself is the lease row with that fence; the code of authentication only keeps clients from guessing the fences of
//! others.

use std::fmt::Write as _;

use aws_lc_rs::hmac;

use super::{Fence, TaskId};

/// The secret that tokens are signed with, shared by all nodes of a database.
#[derive(Clone, Debug)]
pub struct TokenKey(hmac::Key);

/// A lease as its holder names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseToken {
    /// The leased task.
    pub task: TaskId,
    /// Which lease of it.
    pub fence: Fence,
}

/// A text that is no token of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Not three parts, or a part that cannot be read.
    #[error("not a lease token; expected <task>.<fence>.<mac>")]
    Malformed,
    /// The signature is of another key, task or fence.
    #[error("the lease token was not signed by this cluster")]
    Forged,
}

impl TokenKey {
    /// A key from secret bytes.
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    /// Writes a token for a lease.
    pub fn sign(&self, token: LeaseToken) -> String {
        let tag = hmac::sign(&self.0, signed(token).as_bytes());
        let mut text = signed(token);
        text.push('.');
        for byte in tag.as_ref() {
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Reads a token back, in constant time as far as its signature goes.
    pub fn verify(&self, text: &str) -> Result<LeaseToken, TokenError> {
        let mut parts = text.split('.');
        let (Some(task), Some(fence), Some(mac), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenError::Malformed);
        };
        let task = task.parse().map_err(|_| TokenError::Malformed)?;
        let fence = Fence(fence.parse().map_err(|_| TokenError::Malformed)?);
        let mac = unhex(mac).ok_or(TokenError::Malformed)?;
        let token = LeaseToken { task, fence };
        hmac::verify(&self.0, signed(token).as_bytes(), &mac).map_err(|_| TokenError::Forged)?;
        Ok(token)
    }
}

fn signed(token: LeaseToken) -> String {
    format!("{}.{}", token.task, token.fence.0)
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forged_and_foreign_tokens_are_refused() {
        let key = TokenKey::new(b"secret");
        let token = LeaseToken { task: TaskId::new(1, [7; 10]), fence: Fence(42) };
        let text = key.sign(token);
        assert_eq!(key.verify(&text), Ok(token));
        assert_eq!(TokenKey::new(b"other").verify(&text), Err(TokenError::Forged));
        let raised = text.replacen(".42.", ".43.", 1);
        assert_eq!(key.verify(&raised), Err(TokenError::Forged));
        for broken in ["", "a.b.c", &text[..text.len() - 1], &format!("{text}.x")] {
            assert_eq!(key.verify(broken), Err(TokenError::Malformed), "{broken}");
        }
    }
}
