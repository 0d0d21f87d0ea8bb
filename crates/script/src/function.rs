//! A function that is given as the text of its body.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rquickjs::context::EvalOptions;
use rquickjs::function::Args;
use rquickjs::{
    CatchResultExt as _, CaughtError, Coerced, Context, Ctx, Exception, FromJs as _, Promise, Runtime, Value,
};

use crate::error::{Position, ScriptError};

/// What the engine calls the script in its stack traces.
const FILE: &str = "script.js";

/// Time to read a script: nothing of it runs before it is called, unless its braces do not match.
const PARSE_TIME: Duration = Duration::from_secs(1);

/// What a call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the runtime.
    pub memory_bytes: usize,
    /// Stack of nested calls; far below that of the thread that calls.
    pub stack_bytes: usize,
    /// Time from the beginning of the call.
    pub time: Duration,
    /// The result as JSON text.
    pub result_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            time: Duration::from_secs(10),
            result_bytes: 256 << 10,
        }
    }
}

/// Stops a call from another thread. Clones stop the same call.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops the call, within milliseconds.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A function whose body is a script.
#[derive(Clone, Debug)]
pub struct Function {
    /// With its head, which is one line.
    text: String,
}

/// Until when a call may run, and who may end it before.
#[derive(Clone)]
struct Bounds {
    limits: Limits,
    end: Instant,
    stop: Stop,
}

impl Function {
    /// Reads the body of a function of these parameters. Nothing is run.
    pub fn parse(body: &str, parameters: &[&str]) -> Result<Self, ScriptError> {
        // `"use strict"` would be too late inside: parameters are read before it.
        let text = format!("(function ({}) {{\n{body}\n}})", parameters.join(", "));
        let limits = Limits { time: PARSE_TIME, ..Limits::default() };
        let function = Self { text };
        function.within(limits, &Stop::default(), |_, _| Ok(()))?;
        Ok(function)
    }

    /// Calls it with these arguments and returns what it returns; a promise is waited for. Blocks the thread.
    pub fn call(
        &self,
        arguments: &[&serde_json::Value],
        limits: Limits,
        stop: &Stop,
    ) -> Result<serde_json::Value, ScriptError> {
        self.within(limits, stop, |ctx, function| {
            let mut given = Args::new(ctx.clone(), arguments.len());
            for argument in arguments {
                let value: Value<'_> = ctx.json_parse(argument.to_string())?;
                given.push_arg(value)?;
            }
            let returned: Value<'_> = function.call_arg(given)?;
            match returned.as_promise() {
                Some(promise) => kept(promise),
                None => Ok(returned),
            }
            .and_then(|value| text_of(ctx, value))
        })
        .and_then(|text| to_json(text, limits.result_bytes))
    }

    /// Evaluates the function in a runtime of its own and hands it over.
    fn within<T>(
        &self,
        limits: Limits,
        stop: &Stop,
        work: impl for<'js> FnOnce(&Ctx<'js>, rquickjs::Function<'js>) -> rquickjs::Result<T>,
    ) -> Result<T, ScriptError> {
        let bounds = Bounds { limits, end: Instant::now() + limits.time, stop: stop.clone() };
        let runtime = Runtime::new().map_err(|error| ScriptError::Engine(error.to_string()))?;
        runtime.set_memory_limit(limits.memory_bytes);
        runtime.set_max_stack_size(limits.stack_bytes);
        let bound = bounds.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || {
            bound.stop.is_stopped() || Instant::now() >= bound.end
        })));
        let context = Context::full(&runtime).map_err(|error| bounds.why_not(error.to_string()))?;
        context.with(|ctx| {
            let mut options = EvalOptions::default();
            options.filename = Some(FILE.to_owned());
            let read = ctx.eval_with_options(self.text.as_str(), options).catch(&ctx);
            let function: rquickjs::Function<'_> = read.map_err(|error| bounds.failure(&error, true))?;
            if !self.is_whole(&function) {
                let message = "SyntaxError: its braces and parentheses do not match".to_owned();
                return Err(ScriptError::Syntax { message, position: None });
            }
            work(&ctx, function).catch(&ctx).map_err(|error| bounds.failure(&error, false))
        })
    }
}

impl Function {
    /// Whether the function is all of the text: a body that closes it early would leave other code around it.
    fn is_whole(&self, function: &rquickjs::Function<'_>) -> bool {
        let text = Coerced::<String>::from_js(function.ctx(), function.clone().into_value());
        text.is_ok_and(|Coerced(text)| self.text.get(1..self.text.len() - 1) == Some(text.as_str()))
    }
}

/// What a promise is kept with, once all that it waits for in the script is done.
fn kept<'js>(promise: &Promise<'js>) -> rquickjs::Result<Value<'js>> {
    promise.finish()
}

/// The JSON text of a value, or the type of one that has none.
fn text_of<'js>(ctx: &Ctx<'js>, value: Value<'js>) -> rquickjs::Result<Result<String, String>> {
    if value.is_undefined() {
        return Ok(Ok("null".to_owned()));
    }
    let kind = value.type_name();
    match ctx.json_stringify(value)? {
        Some(text) => Ok(Ok(text.to_string()?)),
        None => Ok(Err(kind.to_owned())),
    }
}

fn to_json(text: Result<String, String>, max: usize) -> Result<serde_json::Value, ScriptError> {
    let text = text.map_err(ScriptError::NoJson)?;
    if text.len() > max {
        return Err(ScriptError::TooLarge { bytes: text.len(), max });
    }
    serde_json::from_str(&text).map_err(|error| ScriptError::NoJson(error.to_string()))
}

impl Bounds {
    /// What an error of the engine means. An interrupted script looks like one that threw; the reason is known here.
    fn failure(&self, error: &CaughtError<'_>, is_read: bool) -> ScriptError {
        if self.stop.is_stopped() {
            return ScriptError::Stopped;
        }
        if Instant::now() >= self.end {
            return ScriptError::OutOfTime(self.limits.time);
        }
        let (message, position) = match error {
            CaughtError::Exception(exception) => (message(exception), position(exception)),
            // The engine throws it when there is no room for an error any more; nobody else does.
            CaughtError::Value(value) if value.is_null() => {
                return ScriptError::OutOfMemory(self.limits.memory_bytes);
            }
            CaughtError::Value(value) => (thrown(value), None),
            CaughtError::Error(rquickjs::Error::WouldBlock) => {
                return ScriptError::NoJson("a promise that is never kept".to_owned());
            }
            CaughtError::Error(error) => return self.why_not(error.to_string()),
        };
        if message.contains("out of memory") {
            ScriptError::OutOfMemory(self.limits.memory_bytes)
        } else if is_read {
            ScriptError::Syntax { message, position }
        } else {
            ScriptError::Thrown { message, position }
        }
    }

    /// An error without an exception: there was no memory left to make one.
    fn why_not(&self, error: String) -> ScriptError {
        if error.to_ascii_lowercase().contains("alloc") {
            ScriptError::OutOfMemory(self.limits.memory_bytes)
        } else {
            ScriptError::Engine(error)
        }
    }
}

fn message(exception: &Exception<'_>) -> String {
    let name: Option<String> = exception.as_object().get("name").ok();
    let text = exception.message().unwrap_or_default();
    match name {
        Some(name) if text.is_empty() => name,
        Some(name) => format!("{name}: {text}"),
        None => text,
    }
}

/// What was thrown, if it is no error: a text, a number.
fn thrown(value: &Value<'_>) -> String {
    let text = value.as_string().and_then(|text| text.to_string().ok());
    text.or_else(|| value.as_number().map(|number| number.to_string()))
        .unwrap_or_else(|| format!("a value of type {}", value.type_name()))
}

/// The innermost place in the script that the stack names. The line before the script is ours.
fn position(exception: &Exception<'_>) -> Option<Position> {
    let stack = exception.stack()?;
    let (_, place) = stack.split_once(&format!("{FILE}:"))?;
    let mut numbers = place.split(|letter: char| !letter.is_ascii_digit());
    let line: u32 = numbers.next()?.parse().ok()?;
    let column: u32 = numbers.next()?.parse().ok()?;
    Some(Position { line: line.saturating_sub(1).max(1), column })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn call(body: &str, inputs: &Value) -> Result<Value, ScriptError> {
        Function::parse(body, &["inputs"])?.call(&[inputs], Limits::default(), &Stop::default())
    }

    fn error(body: &str) -> String {
        call(body, &Value::Null).unwrap_err().to_string()
    }

    #[test]
    fn json_goes_in_and_comes_out() {
        let inputs = json!({ "users": [{ "name": "a\u{2028}b" }, { "name": "c" }], "big": 1.5e300 });
        let body = "return { names: inputs.users.map(u => u.name), big: inputs.big, none: undefined };";
        assert_eq!(call(body, &inputs), Ok(json!({ "names": ["a\u{2028}b", "c"], "big": 1.5e300 })));
        assert_eq!(call("", &inputs), Ok(Value::Null));
        assert_eq!(call("return Promise.resolve(7).then(n => n + 1);", &inputs), Ok(json!(8)));
        assert_eq!(call("return (async () => { await null; return [1]; })();", &inputs), Ok(json!([1])));
    }

    #[test]
    fn errors_say_where_they_are() {
        let syntax = error("const a = 1;\nconst b = ;\n");
        assert!(syntax.starts_with("line 2, column ") && syntax.contains("SyntaxError"), "{syntax}");
        let thrown = error("const a = 1;\n\n  throw new RangeError('too many');");
        assert!(
            thrown.starts_with("line 3, column ") && thrown.ends_with("RangeError: too many"),
            "{thrown}"
        );
        let missing = error("return inputs.a.b;");
        assert!(missing.starts_with("line 1, column ") && missing.contains("TypeError"), "{missing}");
        assert_eq!(error("throw 'plain';"), "plain");
        let unmatched = error("return 1; }); (function () {");
        assert_eq!(unmatched, "SyntaxError: its braces and parentheses do not match");
    }

    #[test]
    fn script_reaches_nothing_outside() {
        for name in ["require", "process", "std", "os", "fetch", "print", "console", "setTimeout", "Deno"] {
            assert_eq!(
                call(&format!("return typeof {name};"), &Value::Null),
                Ok(json!("undefined")),
                "{name}"
            );
        }
        let imported = error("return import('fs');");
        assert!(!imported.is_empty());
    }

    #[test]
    fn runaway_scripts_end() {
        let limits = Limits { time: Duration::from_millis(50), memory_bytes: 4 << 20, ..Limits::default() };
        let run =
            |body: &str| Function::parse(body, &[]).unwrap().call(&[], limits, &Stop::default()).unwrap_err();
        assert_eq!(run("for (;;) {}"), ScriptError::OutOfTime(limits.time));
        assert_eq!(run("try { for (;;) {} } catch (e) { return 1; }"), ScriptError::OutOfTime(limits.time));
        assert_eq!(
            run("return (async () => { for (;;) await null; })();"),
            ScriptError::OutOfTime(limits.time)
        );
        let full = run("const a = []; for (;;) a.push('x'.repeat(1000) + a.length);");
        assert_eq!(full, ScriptError::OutOfMemory(limits.memory_bytes));
        let deep = run("const f = n => 1 + f(n + 1); return f(0);").to_string();
        assert!(deep.contains("stack"), "{deep}");
        let regex = run("return /^(a+)+$/.test('a'.repeat(40) + '!');");
        assert_eq!(regex, ScriptError::OutOfTime(limits.time), "regular expressions are interrupted too");
    }

    #[test]
    fn results_are_json_of_a_bounded_size() {
        assert!(error("return () => 1;").contains("no JSON"));
        assert!(error("return new Promise(() => {});").contains("never kept"));
        assert!(error("const a = {}; a.a = a; return a;").contains("TypeError"));
        let large = Function::parse("return 'x'.repeat(1000);", &[]).unwrap();
        let limits = Limits { result_bytes: 100, ..Limits::default() };
        let refused = large.call(&[], limits, &Stop::default());
        assert_eq!(refused, Err(ScriptError::TooLarge { bytes: 1002, max: 100 }));
    }

    #[test]
    fn call_is_stopped_from_another_thread() {
        let (function, stop) = (Function::parse("for (;;) {}", &[]).unwrap(), Stop::default());
        let stopper = stop.clone();
        let thread = std::thread::spawn(move || function.call(&[], Limits::default(), &stop));
        stopper.stop();
        assert_eq!(thread.join().unwrap(), Err(ScriptError::Stopped));
    }

    #[test]
    fn calls_share_nothing() {
        let function = Function::parse("globalThis.n = (globalThis.n ?? 0) + 1; return n;", &[]).unwrap();
        for _ in 0..2 {
            assert_eq!(function.call(&[], Limits::default(), &Stop::default()), Ok(json!(1)));
        }
    }
}
