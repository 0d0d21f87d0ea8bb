//! The templates: plans with comments, each valid and runnable against `hyperscale target` as it is.

use hyperscale_convert::{read, write};
use hyperscale_plan::document::Format;
use hyperscale_plan::problem::nearest;
use hyperscale_plan::{UrlOptions, from_url, with_scheme};
use hyperscale_types::limits::PLAN_BYTES_MAX;

use super::NewError;
use crate::errors::CommandError;

/// What every template tests unless told otherwise.
pub(super) const URL: &str = "http://127.0.0.1:8080";
/// The template for who does not choose.
pub(super) const DEFAULT: &str = "smoke";

/// A plan to begin with.
#[derive(Debug)]
pub(super) struct Template {
    pub(super) name: &'static str,
    /// What it is for, in a line.
    pub(super) about: &'static str,
    /// The plan, as YAML.
    yaml: &'static str,
    /// Files that stand beside it: name and content.
    pub(super) files: &'static [(&'static str, &'static str)],
}

/// All of them, in the order in which a person meets them.
pub(super) const TEMPLATES: &[Template] = &[
    Template {
        name: "smoke",
        about: "one user, a few requests: is it up?",
        yaml: include_str!("templates/smoke.yaml"),
        files: &[],
    },
    Template {
        name: "load",
        about: "users ramp up, stay and leave: a usual busy day",
        yaml: include_str!("templates/load.yaml"),
        files: &[],
    },
    Template {
        name: "stress",
        about: "a growing rate until something gives way (open model)",
        yaml: include_str!("templates/stress.yaml"),
        files: &[],
    },
    Template {
        name: "spike",
        about: "a sudden crowd: does it recover?",
        yaml: include_str!("templates/spike.yaml"),
        files: &[],
    },
    Template {
        name: "soak",
        about: "moderate load for hours: leaks and growing queues",
        yaml: include_str!("templates/soak.yaml"),
        files: &[],
    },
    Template {
        name: "login",
        about: "users of a data file log in and use what the answer gave",
        yaml: include_str!("templates/login.yaml"),
        files: &[("users.csv", include_str!("templates/users.csv"))],
    },
    Template {
        name: "ci",
        about: "an API at a fixed rate with thresholds that fail a build",
        yaml: include_str!("templates/ci.yaml"),
        files: &[],
    },
];

/// The template of this name.
pub(super) fn find(name: &str) -> Result<&'static Template, NewError> {
    TEMPLATES.iter().find(|template| template.name == name).ok_or_else(|| NewError::Template {
        name: name.to_owned(),
        nearest: nearest(name, TEMPLATES.iter().map(|template| template.name)),
    })
}

impl Template {
    /// The plan that tests `url`, checked.
    pub(super) fn text(&self, url: &str, format: Format) -> Result<String, CommandError> {
        let yaml = self.yaml.replace(URL, &base(url)?);
        if format == Format::Yaml {
            return Ok(yaml);
        }
        let document = read::document(self.name, yaml.as_bytes(), Format::Yaml, PLAN_BYTES_MAX)
            .expect("templates are read in every test run");
        Ok(write::document(&document, format, &self.comment()).expect("templates have no null"))
    }

    /// The opening lines of the template, which other formats can carry too.
    fn comment(&self) -> String {
        let lines = self.yaml.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
    }
}

/// What paths are appended to: the URL, with a scheme, looked at as plans do.
pub(super) fn base(url: &str) -> Result<String, NewError> {
    let wrong = |why: &str| NewError::Url { url: url.to_owned(), why: why.to_owned() };
    let whole = with_scheme(url);
    let lower = whole.to_ascii_lowercase();
    if !lower.starts_with("http://") && !lower.starts_with("https://") {
        return Err(wrong("it does not begin with http:// or https://"));
    }
    if whole.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'{}#?$\\`<>".contains(c)) {
        return Err(wrong(
            "paths are appended to it, so it has no query, no fragment, no quotes and no templates",
        ));
    }
    let base = whole.trim_end_matches('/');
    match from_url(&UrlOptions { url: format!("{base}/"), ..UrlOptions::default() }) {
        Ok(_) => Ok(base.to_owned()),
        Err(problems) => {
            Err(wrong(&problems.into_iter().next().map(|problem| problem.message).unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_their_last_slash_and_nothing_else() {
        assert_eq!(base("https://h:1/api/").unwrap(), "https://h:1/api");
        assert_eq!(base("HTTP://[::1]:80").unwrap(), "HTTP://[::1]:80");
        assert_eq!(base("localhost:8080").unwrap(), "http://localhost:8080");
        for wrong in
            ["ftp://h", "http://h/?a=b", "http://h/ b", "http://h/#x", "http://h/{{ a }}", "http://${env:A}"]
        {
            assert!(base(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn hosts_are_looked_at_as_plans_do() {
        for template in TEMPLATES {
            for wrong in ["http://:80", "http://h:99999", "http://h_ä"] {
                let refused = template.text(wrong, Format::Yaml);
                assert!(matches!(refused, Err(CommandError::New(NewError::Url { .. }))), "{wrong}");
            }
        }
    }

    #[test]
    fn opening_comment_goes_with_toml() {
        let text = find("stress").unwrap().text(URL, Format::Toml).unwrap();
        assert!(text.starts_with("# Stress test: "), "{text}");
        assert!(text.contains("\n# Latency counts from"), "{text}");
    }

    #[test]
    fn names_that_are_nearly_right_are_recognised() {
        assert!(matches!(find("smok"), Err(NewError::Template { nearest: Some("smoke"), .. })));
        assert!(matches!(find("xyzzy"), Err(NewError::Template { nearest: None, .. })));
    }
}
