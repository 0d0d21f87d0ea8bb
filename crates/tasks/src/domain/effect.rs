//! Keys under which effects happen once.

use std::fmt::Write as _;

use aws_lc_rs::digest;

use super::TaskId;

/// The key of a step of a task. Attempts are not part of it: a later attempt finds what an earlier one did.
pub fn effect_key(task: TaskId, step: &str) -> String {
    hex(&[task.0.as_bytes(), step.as_bytes()])
}

/// A digest of bytes, for comparing what is too long to keep.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hex(&[bytes])
}

/// SHA-256 of parts, each preceded by its length, in hexadecimal digits.
pub(crate) fn hex(parts: &[&[u8]]) -> String {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    context.finish().as_ref().iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_depends_on_task_and_step_only() {
        let (one, two) = (TaskId::new(1, [0; 10]), TaskId::new(2, [0; 10]));
        assert_eq!(effect_key(one, "send"), effect_key(one, "send"));
        assert_ne!(effect_key(one, "send"), effect_key(one, "check"));
        assert_ne!(effect_key(one, "send"), effect_key(two, "send"));
    }
}
