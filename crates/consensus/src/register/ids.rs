//! What jobs, their segments, their parts and requests about them are called in the log.

use std::fmt;
use std::str::FromStr;

use hyperscale_types::Token;

/// A job: 16 random bytes, written as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub [u8; 16]);

/// Not 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a job is 32 hexadecimal digits")]
pub struct JobIdError;

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for JobId {
    type Err = JobIdError;

    fn from_str(text: &str) -> Result<Self, JobIdError> {
        let is_digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_digits);
        number.map(|number| JobId(number.to_be_bytes())).ok_or(JobIdError)
    }
}

/// A request that changes something, so that repeating it is harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub [u8; 16]);

/// The part of a workflow given to one worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Segment {
    /// Of which job.
    pub job: JobId,
    /// Of which workflow.
    pub workflow: String,
    /// Which one of it.
    pub number: u32,
}

/// The part of a job that one datacenter runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId {
    /// Of which job.
    pub job: JobId,
    /// The datacenter that runs it.
    pub datacenter: String,
    /// The index of the entry that assigned it.
    pub token: Token,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_is_read_as_it_is_written_and_nothing_else_is() {
        let job = JobId([0, 1, 0xab, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
        assert_eq!(job.to_string(), "0001ab030405060708090a0b0c0d0eff");
        assert_eq!(job.to_string().parse(), Ok(job));
        for wrong in ["", "7", "+001ab030405060708090a0b0c0d0eff", "0001ab030405060708090a0b0c0d0eff0"] {
            assert_eq!(wrong.parse::<JobId>(), Err(JobIdError), "{wrong}");
        }
    }
}
