//! What clients ask of a manager, and what they are told.

use hyperscale_consensus::BlobId;
use hyperscale_consensus::register::{Accept, Body, JobId, JobOptions, Origin, RequestId};
use hyperscale_types::{Now, Token};

use super::manager::{Answer, ManagerAction, ManagerDriver};
use super::plan;
use super::requests::Purpose;
use crate::log::letter::{ClientLetter, Wish};

impl ManagerDriver {
    /// A client is told how its job ended, if it has.
    pub(super) fn tell_end(&self, client_job: usize, job: JobId, out: &mut Vec<ManagerAction>) {
        let end = self.group().machine().end_of(job);
        out.extend(end.map(|end| ManagerAction::Answer { client_job, answer: Answer::Ended(end) }));
    }

    pub(super) fn client(&mut self, now: Now, letter: ClientLetter, out: &mut Vec<ManagerAction>) {
        let ClientLetter { client_job, wish } = letter;
        match wish {
            Wish::Submit { mut job, key } => {
                let bytes = plan::result(&plan::segment(job, 0), 0);
                let origin = plan::is_part(job).then(|| self.any_origin());
                if origin.is_none() {
                    // Every manager draws an id of its own; the key makes it one job.
                    self.rng.fill(&mut job.0[8..]);
                }
                let (options, caller) = (JobOptions::default(), String::new());
                let plan = BlobId::of(&bytes);
                let (name, submitted_at_ms) = (String::new(), 0);
                let accept =
                    Box::new(Accept { job, key, plan, options, origin, caller, name, submitted_at_ms });
                self.store(now, Purpose::StorePlan { client_job, accept }, bytes);
            }
            Wish::Cancel(job) => {
                let request = RequestId(job.0);
                let (workflows, reason, caller) = (Vec::new(), "asked".to_owned(), String::new());
                let body = Body::Cancel { job, workflows, request, reason, caller };
                self.ask(now, Purpose::Cancel { client_job }, Token(0), body);
            }
            Wish::Status(job) => self.read(now, Purpose::Status { client_job, job }, out),
        }
    }

    /// Any of two gates sends the part, one after the other: the first one may be stale, and is refused then.
    fn any_origin(&mut self) -> Origin {
        let (part, gate_token) = (Token(1), Token(self.rng.u64(1..=2)));
        Origin { datacenter: "here".to_owned(), part, gate_token }
    }
}
