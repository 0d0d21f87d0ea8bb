//! What a client has learned about who leads which job, and which server responded last.

use std::collections::BTreeMap;

use hyperscale_types::Token;

use super::endpoint::ServerUrl;

/// Jobs whose leader is remembered; an old one makes room.
const JOBS_MAX: usize = 256;

/// What is known about leaders.
#[derive(Debug, Default)]
pub(super) struct Leaders {
    jobs: BTreeMap<String, Known>,
    /// Index of the server that responded last.
    pub(super) preferred: usize,
}

#[derive(Debug, Default)]
struct Known {
    token: Token,
    server: Option<ServerUrl>,
}

impl Leaders {
    /// The known leader of a job.
    pub(super) fn of(&self, job: &str) -> Option<&ServerUrl> {
        self.jobs.get(job)?.server.as_ref()
    }

    /// Takes note of a token; false if a newer one is known.
    pub(super) fn saw(&mut self, job: &str, token: Token) -> bool {
        let known = self.entry(job);
        if token < known.token {
            return false;
        }
        if token > known.token {
            *known = Known { token, server: None };
        }
        true
    }

    /// Takes note of a leader; false if a newer token is known.
    pub(super) fn moved(&mut self, job: &str, token: Token, server: ServerUrl) -> bool {
        let is_news = self.saw(job, token);
        if is_news {
            self.entry(job).server = Some(server);
        }
        is_news
    }

    /// Forgets a leader that does not respond. Its token stays: older ones are still stale.
    pub(super) fn lost(&mut self, job: &str) {
        if let Some(known) = self.jobs.get_mut(job) {
            known.server = None;
        }
    }

    fn entry(&mut self, job: &str) -> &mut Known {
        if !self.jobs.contains_key(job) && self.jobs.len() >= JOBS_MAX {
            self.jobs.pop_first();
        }
        self.jobs.entry(job.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_tokens_change_nothing() {
        let mut leaders = Leaders::default();
        let server = |port: u16| format!("http://a:{port}").parse::<ServerUrl>().unwrap();
        assert!(leaders.moved("j", Token(7), server(7)));
        assert!(!leaders.moved("j", Token(6), server(6)) && !leaders.saw("j", Token(6)));
        assert_eq!(leaders.of("j"), Some(&server(7)));
        assert!(leaders.saw("j", Token(7)) && leaders.of("j").is_some());
        assert!(leaders.saw("j", Token(8)));
        assert_eq!(leaders.of("j"), None, "the leader of a newer token is not known yet");
    }

    #[test]
    fn a_bounded_number_of_jobs_is_remembered() {
        let mut leaders = Leaders::default();
        for at in 0..2 * JOBS_MAX {
            leaders.saw(&format!("j{at}"), Token(1));
        }
        assert_eq!(leaders.jobs.len(), JOBS_MAX);
    }
}
