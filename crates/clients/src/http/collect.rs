//! Hot: sees every answer. Keeps what somebody needs; allocates only for that.

use hyperscale_plan::model::step::Needs;

use super::head::Head;
use super::reader::Sink;
use super::response::{Headers, Response};

/// Keeps the parts of an answer that are needed.
#[derive(Default)]
pub(crate) struct Collector {
    needs: Needs,
    status: u16,
    headers: Headers,
    body: Vec<u8>,
}

impl Collector {
    /// Keeps what is needed and nothing else.
    pub(crate) fn new(needs: Needs) -> Self {
        Collector { needs, ..Collector::default() }
    }

    /// What was kept, if anything was to be kept.
    pub(crate) fn into_response(self) -> Option<Box<Response>> {
        let kept = self.status != 0 && (self.needs.headers || self.needs.body);
        kept.then(|| Box::new(Response { status: self.status, headers: self.headers, body: self.body }))
    }
}

impl Sink for Collector {
    fn head(&mut self, head: &Head<'_, '_>) {
        self.status = head.status;
        if self.needs.headers {
            self.headers = Headers::copy(head.fields);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if self.needs.body {
            self.body.extend_from_slice(bytes);
        }
    }
}
