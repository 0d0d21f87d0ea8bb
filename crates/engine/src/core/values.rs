//! What templates see of a call's result, and the built-in functions.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use hyperscale_clients::Response;
use hyperscale_plan::lookup::{self, Key};
use hyperscale_types::{Name, split_mix};
use minijinja::Value;
use minijinja::value::{Enumerator, Object};

/// The result of a step as templates see it: `status`, `latency_ms`, `json`, `body`, `headers` and its extractions.
/// JSON is parsed when somebody asks for it.
pub(crate) struct StepValue {
    pub(crate) status: u16,
    pub(crate) latency_ms: f64,
    pub(crate) response: Option<Box<Response>>,
    pub(crate) extracted: Vec<(Name, Value)>,
    json: OnceLock<Value>,
    /// How often a value was looked up in the body.
    lookups: AtomicU32,
}

/// Looking up so many values in a body costs about as much as reading all of it; further ones come from the document.
const LOOKUPS_MAX: u32 = 3;

impl StepValue {
    pub(crate) fn new(status: u16, latency_ms: f64, response: Option<Box<Response>>) -> Self {
        StepValue {
            status,
            latency_ms,
            response,
            extracted: Vec::new(),
            json: OnceLock::new(),
            lookups: AtomicU32::new(0),
        }
    }

    /// What `keys` lead to, if that is known or can be found without reading the whole body as a document.
    pub(crate) fn shortcut(&self, keys: &[Key]) -> Option<Value> {
        let (Key::Field(first), rest) = keys.split_first()? else { return None };
        match &**first {
            "json" if !rest.is_empty() => self.look_up(rest),
            "status" | "latency_ms" | "json" | "body" | "headers" => None,
            name if rest.is_empty() => self.extraction(name).cloned(),
            _ => None,
        }
    }

    fn look_up(&self, keys: &[Key]) -> Option<Value> {
        let is_cheaper =
            self.json.get().is_none() && self.lookups.fetch_add(1, Ordering::Relaxed) < LOOKUPS_MAX;
        let response = self.response.as_ref().filter(|_| is_cheaper)?;
        lookup::find(keys, &response.body)
    }

    /// The names of everything that it may have.
    fn keys(&self) -> impl Iterator<Item = String> {
        let own = ["status", "latency_ms", "json", "body", "headers"];
        let extracted = self.extracted.iter().map(|(name, _)| name.as_str());
        own.into_iter().chain(extracted).map(str::to_owned)
    }

    fn extraction(&self, name: &str) -> Option<&Value> {
        self.extracted.iter().find(|(extracted, _)| *extracted == name).map(|(_, value)| value)
    }

    fn json(&self) -> Value {
        let parse = || match &self.response {
            Some(response) => serde_json::from_slice(&response.body).unwrap_or(Value::UNDEFINED),
            None => Value::UNDEFINED,
        };
        self.json.get_or_init(parse).clone()
    }

    fn body(&self) -> Value {
        match &self.response {
            Some(response) => Value::from(String::from_utf8_lossy(&response.body).into_owned()),
            None => Value::UNDEFINED,
        }
    }

    fn headers(&self) -> Value {
        match &self.response {
            Some(response) => Value::from_pairs(
                response
                    .headers()
                    .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned())),
            ),
            None => Value::UNDEFINED,
        }
    }
}

/// A value as plain data, which can travel. `None` for what does not exist. Of a step's result only what is there is
/// taken, so that a template which refers to something missing fails as it does where the result was made.
pub(crate) fn plain(value: &Value) -> Option<serde_json::Value> {
    if value.is_undefined() {
        return None;
    }
    let Some(step) = value.downcast_object::<StepValue>() else { return serde_json::to_value(value).ok() };
    let fields = step.keys().filter_map(|key| {
        let field = step.get_value(&Value::from(key.as_str()))?;
        Some((key, plain(&field)?))
    });
    Some(serde_json::Value::Object(fields.collect()))
}

impl fmt::Debug for StepValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepValue").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Object for StepValue {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let value = match key.as_str()? {
            "status" => Value::from(self.status),
            "latency_ms" => Value::from(self.latency_ms),
            "json" => self.json(),
            "body" => self.body(),
            "headers" => self.headers(),
            name => self.extraction(name)?.clone(),
        };
        (!value.is_undefined()).then_some(value)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.keys().map(Value::from).collect())
    }
}

/// The built-in functions of one core. They draw from one generator that is set to the calling VU's before use, so
/// that what a VU draws depends on the run's seed and the VU alone.
pub(crate) struct Builtins {
    state: Arc<AtomicU64>,
    pub(crate) now_ms: Value,
    pub(crate) uuid: Value,
    pub(crate) random: Value,
}

impl Builtins {
    pub(crate) fn new() -> Self {
        let state = Arc::new(AtomicU64::new(0));
        let (for_uuid, for_random) = (Arc::clone(&state), Arc::clone(&state));
        Builtins {
            state,
            now_ms: Value::from_function(now_ms),
            uuid: Value::from_function(move || uuid(draw(&for_uuid), draw(&for_uuid))),
            random: Value::from_function(move |low: i64, high: i64| random(draw(&for_random), low, high)),
        }
    }

    /// Sets the generator to a VU's.
    pub(crate) fn seed(&self, seed: u64) {
        self.state.store(seed, Ordering::Relaxed);
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// A version 4 UUID (RFC 9562) of two random numbers.
fn uuid(high: u64, low: u64) -> String {
    let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

/// A whole number in `low ..= high`; the bounds may be given in either order.
fn random(draw: u64, low: i64, high: i64) -> i64 {
    let (low, high) = (low.min(high), low.max(high));
    let span = high.wrapping_sub(low).cast_unsigned();
    let offset = match span.checked_add(1) {
        Some(values) => ((u128::from(draw) * u128::from(values)) >> 64) as u64,
        None => draw,
    };
    low.wrapping_add(offset.cast_signed())
}

fn draw(state: &AtomicU64) -> u64 {
    let (next, value) = split_mix::step(state.load(Ordering::Relaxed));
    state.store(next, Ordering::Relaxed);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_stays_within_its_bounds_and_reaches_them() {
        let mut seen = [false; 3];
        let mut state = 7;
        for _ in 0..200 {
            let (next, value) = split_mix::step(state);
            state = next;
            let drawn = random(value, 5, 7);
            seen[usize::try_from(drawn - 5).expect("within bounds")] = true;
            assert!((5..=7).contains(&random(value, 7, 5)));
        }
        assert_eq!(seen, [true; 3]);
        assert_eq!(random(u64::MAX, i64::MIN, i64::MAX), i64::MAX);
        assert_eq!(random(0, i64::MIN, i64::MAX), i64::MIN);
    }

    #[test]
    fn uuids_have_version_and_variant() {
        let text = uuid(u64::MAX, u64::MAX);
        assert_eq!(text, "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid(0, 0), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let builtins = Builtins::new();
        let draw_two = || {
            builtins.seed(42);
            (draw(&builtins.state), draw(&builtins.state))
        };
        assert_eq!(draw_two(), draw_two());
    }
}
