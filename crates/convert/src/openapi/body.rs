//! Request bodies: the media type that a plan speaks best, with its example or a value made from its schema.

use serde_json::Value;

use super::{Operation, Reader, entries, scalar};
use crate::plan::{Body, Draft, Part, PartContent, Request};

impl<'d> Reader<'d> {
    /// Gives the request its body.
    pub(super) fn body(&self, operation: &Operation<'d>, request: &mut Request, draft: &mut Draft) {
        let place = &operation.place;
        let Some(body) =
            operation.value.get("requestBody").and_then(|body| self.refs.resolve(body, place, draft))
        else {
            return;
        };
        let Some((media_type, media)) = best(body) else { return };
        let others = entries(body, "content").count() - 1;
        if others > 0 {
            draft.note(
                place,
                format!("the body is sent as {media_type}; {others} other media types are left out"),
            );
        }
        let Some(found) = self.value_of(media, place, draft) else {
            draft.note(
                place,
                format!("the body has neither an example nor a schema and is left out ({media_type})"),
            );
            return;
        };
        if !found.is_given {
            draft.note(
                place,
                "the body was made from its schema: what is required or has an example, else everything",
            );
        }
        if !is_plain_json(media_type) && !media_type.starts_with("multipart/") && media_type != FORM {
            request.headers.push(("content-type".to_owned(), media_type.clone()));
        }
        request.body = if is_json(media_type) {
            Body::Json(found.value)
        } else if media_type == FORM {
            Body::Form(fields(&found.value))
        } else if media_type.starts_with("multipart/") {
            Body::Multipart(self.parts(media, &found.value, place, draft))
        } else {
            Body::Text(scalar(&found.value))
        };
    }

    /// Properties of format `binary` are files.
    fn parts(&self, media: &'d Value, value: &Value, place: &str, draft: &mut Draft) -> Vec<Part> {
        let schema = media.get("schema").and_then(|schema| self.refs.resolve(schema, place, draft));
        let mut parts = Vec::new();
        for (name, text) in fields(value) {
            let property = schema.and_then(|schema| schema.get("properties")?.get(&name));
            let property = property.and_then(|property| self.refs.resolve(property, place, draft));
            let is_file = property.is_some_and(|property| {
                property.get("format").and_then(Value::as_str) == Some("binary")
                    || property.get("contentMediaType").is_some()
            });
            let content = if is_file {
                draft.note(
                    place,
                    format!("put a file `{name}` beside the plan: the description cannot carry it"),
                );
                PartContent::File { path: name.clone(), filename: None }
            } else {
                PartContent::Text(text)
            };
            parts.push(Part { name, content, content_type: None });
        }
        parts
    }
}

const FORM: &str = "application/x-www-form-urlencoded";

/// JSON before forms before anything else.
fn best(body: &Value) -> Option<(&String, &Value)> {
    let rank = |media_type: &str| {
        if is_plain_json(media_type) {
            0
        } else if is_json(media_type) {
            1
        } else if media_type == FORM {
            2
        } else if media_type.starts_with("multipart/form-data") {
            3
        } else {
            4
        }
    };
    entries(body, "content").min_by_key(|(media_type, _)| rank(media_type))
}

fn is_plain_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type == "*/*"
}

fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    is_plain_json(essence) || essence.ends_with("+json")
}

fn fields(value: &Value) -> Vec<(String, String)> {
    let map = value.as_object().into_iter().flatten();
    map.flat_map(|(name, value)| match value {
        Value::Array(list) => list.iter().map(|item| (name.clone(), scalar(item))).collect::<Vec<_>>(),
        other => vec![(name.clone(), scalar(other))],
    })
    .collect()
}
