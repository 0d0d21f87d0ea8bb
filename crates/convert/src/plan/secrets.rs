//! Tokens and passwords do not belong into a plan that is committed and mailed around: a variable stands for each.

use hyperscale_types::secret::{is_secret_field, is_secret_name};
use serde_json::Value;

use super::{Body, Draft, Request};
use crate::text::{has_holes, hole};

/// Parts of names of cookies that say who somebody is.
const COOKIES: [&str; 6] = ["sess", "sid", "auth", "token", "jwt", "csrf"];
/// A cookie at least this long may be a key to something, whatever its name.
const COOKIE_CHARS: usize = 12;
/// Deepest part of a document that is looked at.
const DEPTH_MAX: usize = 32;

impl Draft {
    /// A raw text that stands for a secret: a variable, the same one for the same value.
    pub(crate) fn secret(&mut self, place: &str, wish: &str, value: &str) -> String {
        if self.options().keep_secrets || value.is_empty() || has_holes(value) {
            return value.to_owned();
        }
        if let Some(name) = self.secrets.get(value) {
            return hole(name);
        }
        let (name, variable) = self.env_var(wish);
        self.note(place, format!("`{wish}` is secret: set {variable}, or give --var {name}=…"));
        self.secrets.insert(value.to_owned(), name.clone());
        hole(&name)
    }

    /// Puts variables in the place of what must not stand in a plan.
    pub(super) fn hide_secrets(&mut self, place: &str, request: &mut Request) {
        for (name, value) in &mut request.headers {
            if is_secret_field(name) {
                *value = self.field(place, name, value);
            }
        }
        for (name, value) in request.cookies.iter_mut().filter(|(name, value)| is_cookie(name, value)) {
            *value = self.secret(place, &format!("cookie_{name}"), value);
        }
        if let Some((path, query)) = request.url.split_once('?') {
            let parts: Vec<String> = query.split('&').map(|part| self.query_part(place, part)).collect();
            request.url = format!("{path}?{}", parts.join("&"));
        }
        match &mut request.body {
            Body::Form(fields) => {
                for (name, value) in fields.iter_mut().filter(|(name, _)| is_secret_name(name)) {
                    *value = self.secret(place, name, value);
                }
            }
            Body::Json(value) => self.document(place, value, 0),
            _ => {}
        }
    }

    /// `Bearer …` keeps its scheme.
    fn field(&mut self, place: &str, name: &str, value: &str) -> String {
        match value.split_once(' ') {
            Some((scheme, token)) if name.eq_ignore_ascii_case("authorization") && !has_holes(scheme) => {
                let wish = if scheme.eq_ignore_ascii_case("bearer") { "token" } else { "credentials" };
                format!("{scheme} {}", self.secret(place, wish, token))
            }
            _ => self.secret(place, &name.replace('-', "_").to_ascii_lowercase(), value),
        }
    }

    fn query_part(&mut self, place: &str, part: &str) -> String {
        match part.split_once('=') {
            Some((name, value)) if is_secret_name(name) => {
                format!("{name}={}", self.secret(place, name, value))
            }
            _ => part.to_owned(),
        }
    }

    fn document(&mut self, place: &str, value: &mut Value, depth: usize) {
        if depth > DEPTH_MAX {
            return;
        }
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.document(place, item, depth + 1)),
            Value::Object(map) => {
                for (name, value) in map {
                    match value {
                        Value::String(text) if is_secret_name(name) => *text = self.secret(place, name, text),
                        other => self.document(place, other, depth + 1),
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_cookie(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    value.len() >= COOKIE_CHARS || COOKIES.iter().any(|part| name.contains(part))
}
