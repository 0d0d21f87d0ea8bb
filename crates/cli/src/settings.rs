//! Settings: flags over `HYPERSCALE_…` variables over `hyperscale.toml` over defaults, resolved once.
//!
//! Variables and file have the same keys; a key nobody knows is an error that names the nearest known one.

use std::ffi::OsString;
use std::io;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use hyperscale_plan::problem::nearest;

use crate::args::{EngineArgs, GlobalArgs};

/// The file that is read when it is there.
const FILE: &str = "hyperscale.toml";
/// What the variables of the environment begin with.
const PREFIX: &str = "HYPERSCALE_";
/// Names the settings file; only a variable, for a file cannot say where it is.
const FILE_VARIABLE: &str = "HYPERSCALE_CONFIG";

/// Further variables that commands read where they need them; some are secrets, and none may stand in the file.
const VARIABLES: [&str; 23] = [
    "config",
    "server",
    "api_token",
    "auth_secret",
    "auth_secret_previous",
    "ca",
    "tls_verify_hostname",
    // Of task nodes.
    "cluster_enabled",
    "database_url",
    "event_retention_days",
    "heartbeat_interval_seconds",
    "leader_lease_seconds",
    "leader_renew_seconds",
    "lease_cleanup_interval_seconds",
    "lease_duration_seconds",
    "max_crashes",
    "max_parallel_tasks_per_node",
    "node_dead_seconds",
    "node_id",
    "node_role",
    "node_stale_seconds",
    "poll_interval_seconds",
    "task_retention_days",
];

/// How results and messages are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, independent of the others")]
pub(crate) struct Output {
    /// Results as JSON on stdout.
    pub(crate) json: bool,
    /// No progress, no notes.
    pub(crate) quiet: bool,
    /// Colours where a terminal shows them.
    pub(crate) color: bool,
    /// A live screen where a terminal shows it.
    pub(crate) ui: bool,
}

/// Everything a command needs to know beside its own arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How results and messages are shown.
    pub(crate) output: Output,
    /// Cores a run uses; `None`: all this process may run on.
    pub(crate) cores: Option<NonZeroU32>,
    /// Seed of a run; `None`: drawn anew.
    pub(crate) seed: Option<u64>,
    /// Whether a run can be controlled from outside.
    pub(crate) control: bool,
}

/// Why settings cannot be used. The variants say where they came from.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingError {
    /// A key nobody knows.
    #[error("unknown setting `{key}` in {origin}")]
    Unknown {
        /// The file or the environment.
        origin: String,
        /// As it was written.
        key: String,
        /// The known key that is most like it.
        nearest: Option<&'static str>,
    },
    /// A value that does not fit its key.
    #[error("`{value}` is not {wanted} for setting `{key}` in {origin}")]
    Value {
        /// The file or the environment.
        origin: String,
        /// As it was written.
        key: String,
        /// As it was written.
        value: String,
        /// What would fit.
        wanted: &'static str,
    },
    /// The file is not TOML.
    #[error("{path} cannot be read as TOML")]
    Syntax {
        /// The file.
        path: String,
        /// What is wrong with it, and where.
        message: String,
    },
    /// The file was asked for but cannot be read.
    #[error("the settings file {path} cannot be read")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// One origin's say. `None` leaves it to the next origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Layer {
    json: Option<bool>,
    quiet: Option<bool>,
    no_color: Option<bool>,
    no_ui: Option<bool>,
    no_control: Option<bool>,
    cores: Option<NonZeroU32>,
    seed: Option<u64>,
    export: Option<Vec<String>>,
}

impl Layer {
    const KEYS: [&str; 8] = ["json", "quiet", "no_color", "no_ui", "no_control", "cores", "seed", "export"];

    fn of_flags(global: &GlobalArgs, engine: EngineArgs) -> Self {
        let said = |flag: bool| flag.then_some(true);
        Self {
            json: said(global.json),
            quiet: said(global.quiet),
            no_color: said(global.no_color),
            no_ui: said(engine.no_ui),
            no_control: said(engine.no_control),
            cores: engine.cores,
            seed: engine.seed,
            export: None, // read by the commands that have it, for what stands there may be secret
        }
    }

    fn set(&mut self, origin: &str, key: &str, value: &str) -> Result<(), SettingError> {
        let wrong = |wanted| SettingError::Value {
            origin: origin.to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
            wanted,
        };
        let truth = || match value {
            "true" | "1" => Ok(Some(true)),
            "false" | "0" => Ok(Some(false)),
            _ => Err(wrong("true or false")),
        };
        match key {
            "json" => self.json = truth()?,
            "quiet" => self.quiet = truth()?,
            "no_color" => self.no_color = truth()?,
            "no_ui" => self.no_ui = truth()?,
            "no_control" => self.no_control = truth()?,
            "cores" => self.cores = Some(value.parse().map_err(|_| wrong("a number of cores from 1"))?),
            "seed" => self.seed = Some(value.parse().map_err(|_| wrong("a whole number"))?),
            "export" => self.export = Some(value.split_whitespace().map(str::to_owned).collect()),
            _ => {
                return Err(SettingError::Unknown {
                    origin: origin.to_owned(),
                    key: key.to_owned(),
                    nearest: nearest(key, Self::KEYS),
                });
            }
        }
        Ok(())
    }

    fn over(self, under: Self) -> Self {
        Self {
            json: self.json.or(under.json),
            quiet: self.quiet.or(under.quiet),
            no_color: self.no_color.or(under.no_color),
            no_ui: self.no_ui.or(under.no_ui),
            no_control: self.no_control.or(under.no_control),
            cores: self.cores.or(under.cores),
            seed: self.seed.or(under.seed),
            export: self.export.or(under.export),
        }
    }
}

impl Settings {
    /// Resolves flags, the environment of this process and the settings file. Beside the settings come the places that
    /// runs are exported to where the command line names none.
    pub(crate) fn resolve(
        global: &GlobalArgs,
        engine: EngineArgs,
    ) -> Result<(Self, Vec<String>), SettingError> {
        let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        let file = file_layer(global.config.as_deref(), &environment)?;
        let layer = Layer::of_flags(global, engine).over(environment_layer(&environment)?).over(file);
        let no_color_asked = environment.iter().any(|(name, value)| name == "NO_COLOR" && !value.is_empty());
        let settings = Self {
            output: Output {
                json: layer.json.unwrap_or(false),
                quiet: layer.quiet.unwrap_or(false),
                color: !layer.no_color.unwrap_or(no_color_asked),
                ui: !layer.no_ui.unwrap_or(false),
            },
            cores: layer.cores,
            seed: layer.seed,
            control: !layer.no_control.unwrap_or(false),
        };
        Ok((settings, layer.export.unwrap_or_default()))
    }
}

fn environment_layer(environment: &[(OsString, OsString)]) -> Result<Layer, SettingError> {
    let mut layer = Layer::default();
    for (name, value) in environment {
        let Some(key) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let key = key.to_ascii_lowercase();
        if VARIABLES.contains(&key.as_str()) {
            continue;
        }
        layer.set("the environment", &key, &value.to_string_lossy()).map_err(|error| match error {
            SettingError::Unknown { origin, key, .. } => {
                let nearest = nearest(&key, Layer::KEYS.into_iter().chain(VARIABLES));
                SettingError::Unknown { origin, key, nearest }
            }
            other => other,
        })?;
    }
    Ok(layer)
}

fn file_layer(flag: Option<&Path>, environment: &[(OsString, OsString)]) -> Result<Layer, SettingError> {
    let variable =
        environment.iter().find(|(name, _)| name == FILE_VARIABLE).map(|(_, value)| PathBuf::from(value));
    let asked = flag.map(Path::to_owned).or(variable);
    let path = asked.clone().unwrap_or_else(|| PathBuf::from(FILE));
    match std::fs::read_to_string(&path) {
        Ok(text) => parse_file(&path.display().to_string(), &text),
        Err(source) if source.kind() == io::ErrorKind::NotFound && asked.is_none() => Ok(Layer::default()),
        Err(source) => Err(SettingError::Unreadable { path: path.display().to_string(), source }),
    }
}

fn parse_file(path: &str, text: &str) -> Result<Layer, SettingError> {
    let table: toml::Table = toml::from_str(text)
        .map_err(|error| SettingError::Syntax { path: path.to_owned(), message: error.to_string() })?;
    let mut layer = Layer::default();
    for (key, value) in &table {
        match value {
            toml::Value::Array(list) if key == "export" => {
                layer.export = Some(list.iter().map(as_text).collect());
            }
            value => layer.set(path, key, &as_text(value))?,
        }
    }
    Ok(layer)
}

/// A value as an environment variable would say it; what cannot be said there becomes a word that fits no setting.
fn as_text(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Boolean(truth) => truth.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn flags_win_over_environment_and_environment_over_file() {
        let cores = |n| NonZeroU32::new(n);
        let flags = Layer { cores: cores(1), ..Layer::default() };
        let env =
            environment_layer(&environment(&[("HYPERSCALE_CORES", "2"), ("HYPERSCALE_SEED", "7")])).unwrap();
        let file = parse_file("f", "cores = 3\nseed = 8\nquiet = true").unwrap();
        let layer = flags.over(env).over(file);
        assert_eq!(layer, Layer { cores: cores(1), seed: Some(7), quiet: Some(true), ..Layer::default() });
    }

    #[test]
    fn unknown_keys_name_the_nearest_known_one() {
        let in_file = parse_file("hyperscale.toml", "core = 3").unwrap_err();
        assert!(matches!(in_file, SettingError::Unknown { nearest: Some("cores"), .. }), "{in_file:?}");
        let in_env = environment_layer(&environment(&[("HYPERSCALE_SED", "3")])).unwrap_err();
        assert!(matches!(in_env, SettingError::Unknown { nearest: Some("seed"), .. }), "{in_env:?}");
    }

    #[test]
    fn variables_of_other_commands_are_known_in_the_environment_only() {
        let all: Vec<String> =
            VARIABLES.iter().map(|name| format!("{PREFIX}{}", name.to_ascii_uppercase())).collect();
        let pairs: Vec<(&str, &str)> = all.iter().map(|name| (name.as_str(), "x")).collect();
        assert_eq!(environment_layer(&environment(&pairs)).unwrap(), Layer::default());
        let wrong = environment_layer(&environment(&[("HYPERSCALE_SERVR", "x")])).unwrap_err();
        assert!(matches!(wrong, SettingError::Unknown { nearest: Some("server"), .. }), "{wrong:?}");
        assert!(parse_file("f", "api_token = \"x\"").is_err(), "a secret does not belong into a file");
    }

    #[test]
    fn wrong_values_are_errors_and_never_defaults() {
        for text in ["cores = 0", "cores = \"many\"", "json = 2", "seed = -1", "seed = 1.5"] {
            assert!(matches!(parse_file("f", text), Err(SettingError::Value { .. })), "{text}");
        }
        assert!(matches!(parse_file("f", "cores ="), Err(SettingError::Syntax { .. })));
    }

    #[test]
    fn a_file_that_was_asked_for_must_be_there() {
        let missing = file_layer(Some(Path::new("/nonexistent/hyperscale.toml")), &[]);
        assert!(matches!(missing, Err(SettingError::Unreadable { .. })));
    }
}
