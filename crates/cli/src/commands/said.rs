//! What a result says about how its run was started: enough to see that two runs were the same test, and no secret.
//!
//! Bodies, values of variables and of header fields may be secret. Their names stand here, with a size or a short hash
//! where a difference should be noticed; the requests themselves are never changed by this.

use std::collections::BTreeMap;
use std::fmt::Display;

use hyperscale_convert::write;
use hyperscale_plan::document::Format;
use hyperscale_plan::model::SourceText;
use hyperscale_plan::{URL_STEP, URL_WORKFLOW, UrlOptions, url_document, with_scheme};
use hyperscale_types::secret::{MASK, is_secret_name, masked};
use serde_json::Value;

use crate::args::LoadArgs;

/// What the plan of a URL is called in its result.
const COMMAND_LINE: &str = "command line";
const COMMENT: &str = "What the command line stands for. Secrets, and values that may be secret, are masked.";
/// Header fields whose value is never a secret.
const OPEN_FIELDS: [&str; 7] =
    ["accept", "accept-encoding", "accept-language", "cache-control", "content-type", "host", "user-agent"];

/// Options of a run, by name.
type Options = BTreeMap<String, String>;

/// About the run of a plan.
pub(super) fn about_plan(plan: &str, vars: &[(String, String)], load: LoadArgs) -> Options {
    let mut options = about_load(load);
    set(&mut options, "plan", Some(masked(plan)));
    set(&mut options, "vars", variables(vars));
    options
}

/// About the run of a URL.
pub(super) fn about_url(url: &UrlOptions, load: LoadArgs) -> Options {
    let mut options = about_load(load);
    let mut say = |name, value| set(&mut options, name, value);
    say("plan", Some(masked(&with_scheme(&url.url))));
    say("method", url.method.clone());
    say("headers", header_names(&url.headers));
    say("body", url.body.as_deref().map(measured));
    say("http2", url.http2.then(|| "only".to_owned()));
    say("connections", url.connections.map(|n| n.to_string()));
    say("timeout", url.timeout.clone());
    say("certificates", url.tls.insecure.then(|| "any".to_owned()));
    say("tls resume", url.tls.resume.clone());
    say("authorities", url.tls.ca.clone());
    say("client certificate", url.tls.cert.clone());
    say("max body", url.max_body.clone());
    say(
        "redirects",
        url.redirects
            .map(|most| if most == 0 { "not followed".to_owned() } else { format!("at most {most}") }),
    );
    say("keepalive", url.no_keepalive.then(|| "off".to_owned()));
    say("proxy", url.proxy.as_deref().map(masked));
    say("unix", url.unix.clone());
    options
}

fn about_load(LoadArgs { vus, duration, rate, iterations }: LoadArgs) -> Options {
    let mut options = Options::new();
    set(&mut options, "vus", vus);
    set(&mut options, "duration", duration);
    set(&mut options, "rate", rate);
    set(&mut options, "iterations", iterations);
    options
}

fn set(options: &mut Options, name: &str, value: Option<impl Display>) {
    options.extend(value.map(|value| (name.to_owned(), value.to_string())));
}

/// The names, and a hash of the values that are not secret by their name.
fn variables(vars: &[(String, String)]) -> Option<String> {
    let mut sorted: Vec<&(String, String)> = vars.iter().collect();
    sorted.sort();
    let names: Vec<&str> = sorted.iter().map(|(name, _)| name.as_str()).collect();
    let open = sorted.iter().filter(|(name, _)| !is_secret_name(name));
    let values: Vec<String> = open.map(|(name, value)| format!("{name}={}", masked(value))).collect();
    (!names.is_empty()).then(|| format!("{} {}", names.join(", "), hash(&values.join("\n"))))
}

fn header_names(headers: &[String]) -> Option<String> {
    let name = |header: &String| header.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    let mut names: Vec<String> = headers.iter().map(name).collect();
    names.sort();
    (!names.is_empty()).then(|| names.join(", "))
}

fn measured(body: &str) -> String {
    format!("{} bytes {}", body.len(), hash(body))
}

/// Tells two texts apart (FNV-1a), and is too short to find a text again.
fn hash(text: &str) -> String {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("#{:08x}", text.bytes().fold(0x811c_9dc5, step))
}

/// The plan that stands for a URL, as a person would write it.
pub(super) fn plan_of_url(url: &UrlOptions) -> Option<SourceText> {
    let mut document = url_document(url).ok()?;
    let http = document.pointer_mut(&format!("/workflows/{URL_WORKFLOW}/steps/{URL_STEP}/http"))?;
    let http = http.as_object_mut()?;
    http.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    for (key, value) in http {
        match (key.as_str(), &mut *value) {
            ("headers", Value::Object(headers)) => {
                for (name, values) in headers {
                    mask_field(name, values);
                }
            }
            ("body", Value::String(body)) => *body = format!("{MASK} {}", measured(body)),
            ("url" | "proxy", Value::String(url)) => *url = masked(url),
            _ => {}
        }
    }
    let text = write::document(&document, Format::Yaml, COMMENT).ok()?;
    Some(SourceText { name: COMMAND_LINE.to_owned(), text })
}

/// One value as itself, several as a list.
fn mask_field(name: &str, values: &mut Value) {
    let is_open = OPEN_FIELDS.iter().any(|open| open.eq_ignore_ascii_case(name));
    let Value::Array(list) = values else { return };
    if !is_open {
        list.fill(MASK.into());
    }
    if let [one] = &mut list[..] {
        *values = one.take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secretive() -> UrlOptions {
        UrlOptions {
            url: "http://me:s3cret@h/x?api_key=s3cret&page=2".to_owned(),
            headers: ["Authorization: Bearer s3cret", "X-Mine: s3cret", "accept: text/html"]
                .map(Into::into)
                .into(),
            body: Some("s3cret".to_owned()),
            proxy: Some("http://me:s3cret@proxy:3128".to_owned()),
            ..UrlOptions::default()
        }
    }

    #[test]
    fn the_plan_of_a_url_says_what_is_sent_without_its_secrets() {
        insta::assert_snapshot!(plan_of_url(&secretive()).unwrap().text);
    }

    #[test]
    fn options_say_what_differs_between_two_tests() {
        let plain =
            about_url(&UrlOptions { url: "localhost".into(), ..UrlOptions::default() }, LoadArgs::default());
        assert_eq!(plain, Options::from([("plan".into(), "http://localhost".into())]));
        let options = about_url(&secretive(), LoadArgs::default());
        assert_eq!(options["headers"], "accept, authorization, x-mine");
        assert_eq!(options["body"], format!("6 bytes {}", hash("s3cret")));
        assert!(options.values().all(|value| !value.contains("s3cret")), "{options:?}");
    }

    #[test]
    fn variables_are_told_apart_unless_their_name_is_secret() {
        let of = |vars: &[(&str, &str)]| {
            let vars: Vec<_> = vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
            variables(&vars)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("b", "2"), ("a", "1")]), of(&[("a", "1"), ("b", "2")]), "in any order");
        assert_ne!(of(&[("a", "1")]), of(&[("a", "2")]));
        assert_eq!(of(&[("token", "1")]), of(&[("token", "2")]));
    }
}
