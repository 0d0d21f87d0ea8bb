//! Hot: sees every answer. Keeps what somebody needs; allocates only for that.

use hyperscale_plan::model::step::Needs;

use super::head::Head;
use super::reader::Sink;
use super::response::Response;

/// Keeps the parts of an answer that are needed.
pub(crate) struct Collector {
    needs: Needs,
    response: Option<Box<Response>>,
}

impl Collector {
    /// Keeps what is needed and nothing else.
    pub(crate) fn new(needs: Needs) -> Self {
        Collector { needs, response: None }
    }

    /// What was kept, if anything was to be kept.
    pub(crate) fn into_response(self) -> Option<Box<Response>> {
        self.response
    }
}

impl Sink for Collector {
    fn head(&mut self, head: &Head<'_, '_>) {
        if self.needs == Needs::default() {
            return;
        }
        let response = self.response.insert(Box::new(Response::new(head.status)));
        if self.needs.headers {
            response.reserve(head.fields.len(), head.length);
            head.fields.iter().for_each(|field| response.push(field.name, field.value));
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        if self.needs.body
            && let Some(response) = &mut self.response
        {
            response.body.extend_from_slice(bytes);
        }
    }
}
