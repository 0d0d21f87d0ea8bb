//! Submitting a plan with its files: what does not fit into the request is uploaded as blobs first, to the same server.

use bytes::Bytes;
use hyperscale_types::limits;
use serde_json::Value;

use super::Client;
use super::endpoint::Endpoint;
use super::error::CallError;
use crate::method::{BlobHash, Content, Method, Submit};
use crate::rpc::{self, Id};
use crate::server::{BLOB_MAX, BODY_MAX};

/// Bytes of one file of a plan.
pub const FILE_MAX: u64 = 1 << 30;
/// Bytes that a blob's hash takes in a request.
const HASH_BYTES: usize = 67;

/// Refuses what every server would refuse, before anything is sent.
pub(super) fn check(submit: &Submit) -> Result<(), CallError> {
    check_one("the plan", &submit.plan.content, limits::PLAN_BYTES_MAX)?;
    submit.files.iter().try_for_each(|file| check_one(&file.path, &file.content, FILE_MAX))
}

fn check_one(what: &str, content: &Content, bytes_max: u64) -> Result<(), CallError> {
    match content {
        Content::Inline(bytes) if bytes.len() as u64 > bytes_max => {
            Err(CallError::TooLarge { what: what.to_owned(), bytes: bytes.len() as u64, bytes_max })
        }
        _ => Ok(()),
    }
}

impl Client {
    /// Uploads what does not fit, then submits.
    pub(super) async fn attempt_submit(
        &self,
        endpoint: &Endpoint,
        submit: &Submit,
    ) -> Result<Value, CallError> {
        let mut submit = submit.clone();
        for at in outside(&submit) {
            let content = content_mut(&mut submit, at);
            if let Content::Inline(bytes) = content {
                *content = Content::Blobs(self.upload(endpoint, bytes.clone()).await?);
            }
        }
        self.attempt_call(endpoint, &Method::JobsSubmit(Box::new(submit))).await
    }

    async fn upload(&self, endpoint: &Endpoint, mut bytes: Bytes) -> Result<Vec<BlobHash>, CallError> {
        let mut blobs = Vec::new();
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(BLOB_MAX));
            blobs.push(self.attempt_blob(endpoint, part).await?.blob);
        }
        Ok(blobs)
    }
}

/// The plan is 0, files follow.
fn content_mut(submit: &mut Submit, at: usize) -> &mut Content {
    match at {
        0 => &mut submit.plan.content,
        _ => &mut submit.files[at - 1].content,
    }
}

/// What has to be uploaded so that the rest fits into a request: the largest first.
fn outside(submit: &Submit) -> Vec<usize> {
    let contents = std::iter::once(&submit.plan.content).chain(submit.files.iter().map(|file| &file.content));
    let mut sizes: Vec<(usize, usize)> = contents
        .enumerate()
        .filter_map(|(at, content)| match content {
            Content::Inline(bytes) if at == 0 => Some((text_size(bytes), at)),
            Content::Inline(bytes) => Some((bytes.len().div_ceil(3) * 4, at)),
            Content::Blobs(_) => None,
        })
        .collect();
    sizes.sort_unstable();
    let mut total = skeleton_size(submit) + sizes.iter().map(|(size, _)| size).sum::<usize>();
    let mut outside = Vec::new();
    while total > BODY_MAX
        && let Some((size, at)) = sizes.pop()
    {
        total = total - size + (size.div_ceil(BLOB_MAX) + 1) * HASH_BYTES;
        outside.push(at);
    }
    outside
}

/// Bytes of a text in JSON.
fn text_size(bytes: &Bytes) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::to_string(text).map_or(bytes.len(), |json| json.len()),
        Err(_) => bytes.len().div_ceil(3) * 4,
    }
}

/// Bytes of the request without contents.
fn skeleton_size(submit: &Submit) -> usize {
    let mut skeleton = submit.clone();
    for at in 0..=skeleton.files.len() {
        let content = content_mut(&mut skeleton, at);
        if matches!(content, Content::Inline(_)) {
            *content = Content::Inline(Bytes::new());
        }
    }
    let call = Method::JobsSubmit(Box::new(skeleton)).to_call(Id::Number(1.into()));
    rpc::write_call(&call).to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::PlanFile;

    fn submit(plan: usize, files: &[usize]) -> Submit {
        let mut submit = Submit::new("p.yaml", vec![b'x'; plan]);
        for (at, bytes) in files.iter().enumerate() {
            let content = Content::Inline(vec![7; *bytes].into());
            submit.files.push(PlanFile { path: format!("f{at}"), content });
        }
        submit
    }

    fn body_size(submit: Submit) -> usize {
        let call = Method::JobsSubmit(Box::new(submit)).to_call(Id::Number(1.into()));
        rpc::write_call(&call).to_string().len()
    }

    #[test]
    fn largest_contents_are_uploaded_until_the_rest_fits() {
        assert!(outside(&submit(1_000, &[1_000, 2_000])).is_empty());
        assert_eq!(outside(&submit(1_000, &[10, 800_000, 20])), [2]);
        assert_eq!(outside(&submit(1 << 20, &[700_000, 900_000])), [2, 0]);
        let mut large = submit(900_000, &[300_000, 300_000, 50_000]);
        for at in outside(&large) {
            *content_mut(&mut large, at) = Content::Blobs(vec![BlobHash([0; 32])]);
        }
        assert!(body_size(large) <= BODY_MAX);
    }

    #[test]
    fn files_and_plans_beyond_their_limits_are_refused_before_anything_is_sent() {
        assert!(check(&submit(1 << 20, &[1])).is_ok());
        assert!(matches!(check(&submit((1 << 20) + 1, &[])), Err(CallError::TooLarge { .. })));
    }
}
