//! Fencing: a receiver remembers the highest token per group and job, and refuses lower ones.
//!
//! A token is the index of the entry that granted the right: unique, strictly increasing, and it survives restarts. A higher
//! one is believed only from an authenticated member of the group that grants; equal ones pass.

use std::collections::BTreeMap;

use hyperscale_types::Token;

#[cfg(feature = "bugs")]
use crate::bugs::Bugs;

/// Most jobs a receiver remembers tokens of. A job that is forgotten ends first; see [`TokenBook::forget`].
pub const TOKENS_MAX: usize = 100_000;

/// Why a token is not obeyed. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Somebody has a newer one. Whoever sent it has been replaced.
    #[error("stale token: {current} is in force")]
    Stale {
        /// The highest one seen.
        current: Token,
    },
    /// Newer, but from somebody who is no member of the granting group.
    #[error("only a member of the granting group brings a newer token")]
    NotMember,
    /// Too many jobs at once.
    #[error("tokens of too many jobs")]
    Full,
}

/// Who brings a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer {
    /// An authenticated member of the group that grants.
    Member,
    /// Anybody else.
    Other,
}

/// The highest token per (group, job).
#[derive(Clone, Debug)]
pub struct TokenBook<G, J> {
    highest: BTreeMap<(G, J), Token>,
    #[cfg(feature = "bugs")]
    bugs: Bugs,
}

impl<G: Ord, J: Ord> Default for TokenBook<G, J> {
    fn default() -> Self {
        Self {
            highest: BTreeMap::new(),
            #[cfg(feature = "bugs")]
            bugs: Bugs::default(),
        }
    }
}

impl<G: Ord, J: Ord> TokenBook<G, J> {
    /// A book with deliberate bugs.
    #[cfg(feature = "bugs")]
    pub fn with_bugs(bugs: Bugs) -> Self {
        Self { bugs, ..Self::default() }
    }

    /// Whether to obey; remembers a newer token.
    pub fn admit(&mut self, group: G, job: J, token: Token, bearer: Bearer) -> Result<(), TokenError> {
        if bug!(self.bugs, ObeyLowerToken) {
            return Ok(());
        }
        let key = (group, job);
        let current = self.highest.get(&key).copied();
        match current {
            Some(current) if token < current => Err(TokenError::Stale { current }),
            Some(current) if token == current => Ok(()),
            _ if bearer == Bearer::Other => Err(TokenError::NotMember),
            None if self.highest.len() >= TOKENS_MAX => Err(TokenError::Full),
            _ => {
                self.highest.insert(key, token);
                Ok(())
            }
        }
    }

    /// The highest one seen.
    pub fn current(&self, group: G, job: J) -> Option<Token> {
        self.highest.get(&(group, job)).copied()
    }

    /// The job has ended and was forgotten everywhere.
    pub fn forget(&mut self, group: G, job: J) {
        self.highest.remove(&(group, job));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    #[cfg(feature = "bugs")]
    use crate::bugs::Bug;

    #[test]
    fn lower_token_is_refused_with_the_current_one() {
        let mut book = TokenBook::default();
        book.admit("dc", 1, Token(7), Bearer::Member).unwrap();
        assert_eq!(book.admit("dc", 1, Token(7), Bearer::Other), Ok(()));
        assert_eq!(
            book.admit("dc", 1, Token(6), Bearer::Member),
            Err(TokenError::Stale { current: Token(7) })
        );
        book.admit("dc", 1, Token(9), Bearer::Member).unwrap();
        assert_eq!(book.current("dc", 1), Some(Token(9)));
    }

    #[cfg(feature = "bugs")]
    #[test]
    fn bug_of_obeying_lower_tokens_is_seen_by_whoever_was_replaced() {
        let mut book = TokenBook::with_bugs([Bug::ObeyLowerToken].into_iter().collect());
        book.admit("dc", 1, Token(7), Bearer::Member).unwrap();
        assert_eq!(book.admit("dc", 1, Token(6), Bearer::Member), Ok(()));
    }

    #[test]
    fn tokens_are_compared_per_group_and_job() {
        let mut book = TokenBook::default();
        book.admit("gates", 1, Token(100), Bearer::Member).unwrap();
        assert_eq!(book.admit("dc", 1, Token(3), Bearer::Member), Ok(()));
        assert_eq!(book.admit("gates", 2, Token(3), Bearer::Member), Ok(()));
    }

    #[test]
    fn higher_token_is_believed_only_from_a_member_of_the_granting_group() {
        let mut book = TokenBook::default();
        assert_eq!(book.admit("dc", 1, Token(5), Bearer::Other), Err(TokenError::NotMember));
        book.admit("dc", 1, Token(5), Bearer::Member).unwrap();
        assert_eq!(book.admit("dc", 1, Token(6), Bearer::Other), Err(TokenError::NotMember));
        assert_eq!(book.current("dc", 1), Some(Token(5)));
    }

    proptest! {
        #[test]
        fn receiver_never_goes_back(tokens in proptest::collection::vec((0u64..50, any::<bool>()), 1..100)) {
            let mut book = TokenBook::default();
            let mut obeyed = Token(0);
            for (token, is_member) in tokens {
                let bearer = if is_member { Bearer::Member } else { Bearer::Other };
                if book.admit((), (), Token(token), bearer).is_ok() {
                    prop_assert!(Token(token) >= obeyed);
                    obeyed = Token(token);
                }
            }
        }
    }
}
