//! Looking at an answer: is it expected, what is extracted from it, do the checks hold.

use std::sync::Arc;

use hyperscale_clients::{Outcome, Response};
use hyperscale_job::{Failure, FailureKind};
use hyperscale_plan::model::step::{CheckRule, Conversion, ExtractFrom, Extraction, Stop};
use hyperscale_plan::template::{Escape, FillError, Template};
use hyperscale_stats::{CallSample, StreamEvent};
use hyperscale_types::{ErrorKind, Now};
use minijinja::Value;

use super::Core;
use super::scope::VuScope;
use super::step::Place;
use super::values::StepValue;
use super::vu::Vu;

/// Characters of a value that a message shows.
const SHOWN_MAX: usize = 40;

/// What is thought of a step's run.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Why it failed.
    pub(crate) error: Option<ErrorKind>,
    /// The same in words.
    pub(crate) message: Option<Box<str>>,
    /// What ends with it.
    pub(crate) stop: Option<Stop>,
}

impl Verdict {
    pub(crate) fn failed(kind: ErrorKind, message: String) -> Self {
        Verdict { error: Some(kind), message: Some(message.into()), stop: None }
    }
}

/// The parts of an answer that checks look at.
#[derive(Default)]
pub(crate) struct Subject<'a> {
    answered: bool,
    status: Option<u16>,
    latency_ns: u64,
    response: Option<&'a Response>,
}

/// The verdict on a call: extracts, keeps the result for those that refer to it, checks. Its latency is what the
/// statistics say: it counts from the intended start.
pub(crate) fn examine(
    core: &Core,
    vu: &Vu,
    place: Place<'_>,
    outcome: &mut Outcome,
    intended: Option<Now>,
) -> Verdict {
    let step = place.step;
    let mut verdict = match outcome.error.take() {
        Some(error) => Verdict { error: Some(error.kind), message: Some(error.message), stop: None },
        None => Verdict::default(),
    };
    let latency_ns = outcome.ended.nanos_since(intended.unwrap_or(outcome.started));
    let mut value = StepValue::new(outcome.status, latency_ns as f64 / 1e6, outcome.response.take());
    if verdict.error.is_none()
        && let Err(message) = extract_all(&step.extract, &mut value)
    {
        verdict = Verdict::failed(ErrorKind::Extract, message);
    }
    let value = Arc::new(value);
    if step.needs.result && outcome.answered {
        vu.keep_result(place.at, Value::from_dyn_object(Arc::clone(&value)));
    }
    let (answered, status) = (outcome.answered, outcome.status);
    let subject = Subject { answered, status, latency_ns, response: value.response.as_deref() };
    let checked = check_all(core, vu, place, &subject);
    // What is wrong with the call itself is what people have to know.
    let kept = verdict.error.is_some().then_some(verdict);
    Verdict { stop: checked.stop, ..kept.unwrap_or(checked) }
}

/// Evaluates and counts all checks of a step. The verdict is a failure if one with `stop` did not hold, or if one could
/// not be evaluated: an expression that fails is a mistake of the plan or an answer that nobody thought of, not a no.
pub(crate) fn check_all(core: &Core, vu: &Vu, place: Place<'_>, subject: &Subject<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let first = core.parts[place.part as usize].checks[place.at];
    for (at, check) in place.step.checks.iter().enumerate() {
        let held = holds(&check.rule, subject, &VuScope { core, vu });
        let passed = matches!(held, Ok(true));
        core.window.borrow_mut().check(first + at, passed);
        if passed {
            continue;
        }
        let stop = verdict.stop.max(check.stop);
        if let Err((kind, error)) = held {
            verdict = Verdict::failed(kind, format!("check `{}`: {error}", check.name));
        } else if check.stop > verdict.stop && verdict.error.is_none_or(|kind| kind == ErrorKind::Check) {
            verdict = Verdict::failed(ErrorKind::Check, format!("check `{}` did not hold", check.name));
        }
        verdict.stop = stop;
        if check.stop == Some(Stop::Test) {
            let message = format!("check `{}` of step `{}` did not hold", check.name, place.step.name);
            core.stop_test(Failure {
                kind: FailureKind::Check,
                message,
                step: Some(place.step.name.clone()),
            });
        }
    }
    verdict
}

/// Whether a check holds. The error is of the rule itself, which could not be evaluated.
fn holds(
    rule: &CheckRule,
    subject: &Subject<'_>,
    scope: &VuScope<'_>,
) -> Result<bool, (ErrorKind, FillError)> {
    let filled = |wanted: &Template, escape| {
        let mut text = Vec::new();
        wanted.fill(scope, escape, &mut text).map(|()| text).map_err(|error| (ErrorKind::Template, error))
    };
    Ok(match rule {
        CheckRule::Status(set) => subject.status.is_some_and(|status| set.contains(status)),
        CheckRule::Latency(op, span) => {
            subject.answered && op.holds(subject.latency_ns as f64, span.as_nanos() as f64)
        }
        CheckRule::Expr(expr) => expr.is_true(scope).map_err(|error| (ErrorKind::Expr, error))?,
        CheckRule::BodyContains(wanted) => {
            let Some(response) = subject.response else { return Ok(false) };
            memchr::memmem::find(&response.body, &filled(wanted, Escape::None)?).is_some()
        }
        CheckRule::BodyMatches(regex) => subject.response.is_some_and(|r| regex.is_match(&r.body)),
        CheckRule::Header(name, wanted) => {
            let Some(found) = subject.response.and_then(|response| response.header(name)) else {
                return Ok(false);
            };
            let Some(wanted) = wanted else { return Ok(true) };
            found == filled(wanted, Escape::Header)?
        }
    })
}

/// Reads all extractions into the result, or says which one found nothing.
fn extract_all(extractions: &[Extraction], value: &mut StepValue) -> Result<(), String> {
    let mut document = None;
    for extraction in extractions {
        let found = value
            .response
            .as_deref()
            .and_then(|response| extract(&extraction.from, response, value.status, &mut document));
        let found = match (found, extraction.convert) {
            (Some(found), Some(to)) => Some(to.convert(&found).ok_or_else(|| unfit(extraction, to, &found))?),
            (found, _) => found,
        };
        match found.or_else(|| extraction.default.clone()) {
            Some(found) => value.extracted.push((extraction.name.clone(), found)),
            None => return Err(format!("`{}` found nothing in the answer", extraction.name)),
        }
    }
    Ok(())
}

/// An extracted value that cannot be read as the plan says. Few distinct texts: they are counted.
fn unfit(extraction: &Extraction, to: Conversion, found: &Value) -> String {
    let (word, _) =
        Conversion::WORDS.iter().find(|(_, conversion)| *conversion == to).expect("it has a word");
    let begin: String = found.to_string().chars().take(SHOWN_MAX).collect();
    format!("`{}` found `{begin}`, which is no {word}", extraction.name)
}

fn extract(
    from: &ExtractFrom,
    response: &Response,
    status: Option<u16>,
    document: &mut Option<serde_json::Value>,
) -> Option<Value> {
    let text = |bytes: &[u8]| Value::from(String::from_utf8_lossy(bytes).as_ref());
    match from {
        ExtractFrom::Json(query) => query.find(&response.body, document),
        ExtractFrom::Regex(regex, group) => {
            regex.captures(&response.body)?.get(*group).map(|found| text(found.as_bytes()))
        }
        ExtractFrom::Header(name) => response.header(name).map(text),
        ExtractFrom::Cookie(name) => response.cookie(name).map(text),
        ExtractFrom::Status => status.map(Value::from),
    }
}

/// Records what a plain count does not say: messages, tags, events of a stream.
pub(crate) fn note(
    core: &Core,
    vu: &Vu,
    place: Place<'_>,
    outcome: &Outcome,
    verdict: &Verdict,
    sample: &CallSample,
) {
    let mut window = core.window.borrow_mut();
    if let Some(kind) = verdict.error {
        window.error_message(place.number, kind, verdict.message.as_deref().unwrap_or_default());
    }
    if !place.step.tags.is_empty() {
        with_tags(core, vu, place, |tags| window.tagged(place.number, tags, sample));
    }
    if let Some(stream) = &outcome.stream {
        let later = stream.gaps_ns.iter().map(|gap| StreamEvent::Next(*gap));
        let first = stream.first_event_ns.map(StreamEvent::First);
        first.into_iter().chain(later).for_each(|event| window.stream_event(place.number, event));
    }
}

/// Hands over the tags of a step as they are in this iteration.
pub(crate) fn with_tags(core: &Core, vu: &Vu, place: Place<'_>, record: impl FnOnce(&str)) {
    let mut tags = core.scratch.borrow_mut();
    tags.clear();
    write_tags(&place, &VuScope { core, vu }, &mut tags);
    record(&String::from_utf8_lossy(&tags));
}

/// Writes `k=v,k2=v2`, sorted by key as the plan's reader left them; what cannot be filled is an empty value. A comma, an
/// equals sign and a backslash of a value have a backslash before them.
fn write_tags(place: &Place<'_>, scope: &VuScope<'_>, out: &mut Vec<u8>) {
    for (at, (name, value)) in place.step.tags.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(name.as_str().as_bytes());
        out.push(b'=');
        let begin = out.len();
        drop(value.fill(scope, Escape::None, out));
        escape_tag(out, begin);
    }
}

/// Puts backslashes before what would be read as the end of a value.
fn escape_tag(out: &mut Vec<u8>, begin: usize) {
    let mut at = begin;
    while let Some(next) = out[at..].iter().position(|byte| matches!(byte, b',' | b'=' | b'\\')) {
        out.insert(at + next, b'\\');
        at += next + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::escape_tag;

    #[test]
    fn values_of_tags_cannot_look_like_further_tags() {
        let mut tags = b"a=1,b=".to_vec();
        let begin = tags.len();
        tags.extend_from_slice(br"x,c=2\,");
        escape_tag(&mut tags, begin);
        assert_eq!(String::from_utf8_lossy(&tags), r"a=1,b=x\,c\=2\\\,");
    }
}
