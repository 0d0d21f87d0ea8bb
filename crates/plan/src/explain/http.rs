//! The arguments of an HTTP call.

use super::arguments::List;
use crate::model::http::{Auth, Body, HttpRequest, PartContent};

impl List {
    pub(super) fn http(&mut self, request: &HttpRequest) {
        self.template("url", &request.url);
        self.pairs("query", &request.query);
        for (name, value) in &request.headers {
            self.template(format!("header {name}"), value);
        }
        for (name, value) in &request.cookies {
            self.template(format!("cookie {name}"), value);
        }
        self.auth(request.auth.as_ref());
        if let Some(retry) = &request.retry {
            let causes: Vec<&str> = retry.on.iter().map(|cause| cause.word()).collect();
            self.prepared(format!("retry {} (max {})", causes.join(", "), retry.max));
        }
        match &request.body {
            Body::Empty => {}
            Body::Text(text) => self.template("body", text),
            Body::Json(document) => self.json("json", document),
            Body::Form(pairs) => self.pairs("form", pairs),
            Body::File(_) => self.prepared("file"),
            Body::Bytes(_) => self.prepared("bytes"),
            Body::Multipart(parts) => {
                for part in parts {
                    let name = format!("part {}", part.name);
                    match &part.content {
                        PartContent::Text(text) => self.template(name, text),
                        PartContent::File { .. } => self.prepared(name),
                    }
                }
            }
        }
    }

    fn auth(&mut self, auth: Option<&Auth>) {
        match auth {
            None => {}
            Some(Auth::Basic { user, password }) => {
                self.holes("auth basic", user.holes().chain(password.holes()));
            }
            Some(Auth::Digest { user, password }) => {
                self.holes("auth digest", user.holes().chain(password.holes()));
            }
            Some(Auth::Bearer(token)) => self.template("auth bearer", token),
            Some(Auth::OAuth2(_)) => self.prepared("auth oauth2"),
        }
    }
}
