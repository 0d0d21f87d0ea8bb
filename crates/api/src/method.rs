//! What can be asked of a job: methods by name, with parameters that are checked once, here.

use hyperscale_types::{Command, Name, Rate, limits};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::rpc::{Call, INVALID_PARAMS, Id, METHOD_NOT_FOUND, RpcError};

/// A request that can be relied on.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// All jobs.
    JobsList,
    /// One job: its result so far.
    JobsGet {
        /// Which.
        job: String,
    },
    /// Changes the load of a job.
    JobsControl {
        /// Which.
        job: String,
        /// How.
        steer: Steer,
    },
    /// Lets a job come to its end: no new iterations, running ones may finish.
    JobsCancel {
        /// Which.
        job: String,
    },
    /// All methods.
    SystemMethods,
}

/// How the load of a job is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Steer {
    /// Start nothing for a while.
    Pause,
    /// Go on.
    Resume,
    /// So many virtual users (closed models).
    Vus {
        /// Which workflow; all that run and fit, if `None`.
        workflow: Option<Name>,
        /// How many.
        vus: u32,
    },
    /// So many starts per second (open models).
    Rate {
        /// Which workflow; all that run and fit, if `None`.
        workflow: Option<Name>,
        /// How many.
        rate: Rate,
    },
}

impl From<Steer> for Command {
    fn from(steer: Steer) -> Self {
        match steer {
            Steer::Pause => Command::Pause,
            Steer::Resume => Command::Resume,
            Steer::Vus { workflow, vus } => Command::SetVus { workflow, vus },
            Steer::Rate { workflow, rate } => Command::SetRate { workflow, rate },
        }
    }
}

/// Parameters that only name a job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfJob {
    job: String,
}

/// Parameters of `jobs.control`, before it is known that they agree with each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlParams {
    job: String,
    workflow: Option<Name>,
    vus: Option<u32>,
    rate: Option<Rate>,
    #[serde(default)]
    pause: bool,
    #[serde(default)]
    resume: bool,
}

/// No parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

impl Method {
    /// The names of all methods.
    pub const NAMES: [&str; 5] = ["jobs.cancel", "jobs.control", "jobs.get", "jobs.list", "system.methods"];

    /// Reads a method and its parameters.
    pub fn read(name: &str, params: Map<String, Value>) -> Result<Self, RpcError> {
        match name {
            "jobs.list" => read::<Nothing>(params).map(|_| Method::JobsList),
            "jobs.get" => read(params).map(|OfJob { job }| Method::JobsGet { job }),
            "jobs.control" => {
                let params: ControlParams = read(params)?;
                Ok(Method::JobsControl { job: params.job.clone(), steer: params.steer()? })
            }
            "jobs.cancel" => read(params).map(|OfJob { job }| Method::JobsCancel { job }),
            "system.methods" => read::<Nothing>(params).map(|_| Method::SystemMethods),
            _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("there is no method `{name}`"))),
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Method::JobsList => "jobs.list",
            Method::JobsGet { .. } => "jobs.get",
            Method::JobsControl { .. } => "jobs.control",
            Method::JobsCancel { .. } => "jobs.cancel",
            Method::SystemMethods => "system.methods",
        }
    }

    /// As a request with this id.
    pub fn to_call(&self, id: Id) -> Call {
        let params = match self {
            Method::JobsList | Method::SystemMethods => json!({}),
            Method::JobsGet { job } | Method::JobsCancel { job } => json!({ "job": job }),
            Method::JobsControl { job, steer } => steer.params(job),
        };
        let Value::Object(params) = params else { unreachable!("every arm is an object") };
        Call { id: Some(id), method: self.name().to_owned(), params }
    }
}

impl Steer {
    fn params(&self, job: &str) -> Value {
        let mut params = match self {
            Steer::Pause => json!({ "job": job, "pause": true }),
            Steer::Resume => json!({ "job": job, "resume": true }),
            Steer::Vus { vus, .. } => json!({ "job": job, "vus": vus }),
            Steer::Rate { rate, .. } => json!({ "job": job, "rate": rate }),
        };
        if let Steer::Vus { workflow: Some(name), .. } | Steer::Rate { workflow: Some(name), .. } = self {
            params["workflow"] = json!(name);
        }
        params
    }
}

impl ControlParams {
    fn steer(self) -> Result<Steer, RpcError> {
        let wrong = |message: String| RpcError::new(INVALID_PARAMS, message);
        let workflow = self.workflow;
        match (self.vus, self.rate, self.pause, self.resume) {
            (Some(vus), None, false, false) if vus > limits::VUS_MAX => {
                Err(wrong(format!("a workflow has at most {} virtual users", limits::VUS_MAX)))
            }
            (Some(vus), None, false, false) => Ok(Steer::Vus { workflow, vus }),
            (None, Some(rate), false, false) => Ok(Steer::Rate { workflow, rate }),
            (None, None, true, false) | (None, None, false, true) if workflow.is_some() => {
                Err(wrong("`pause` and `resume` are for the whole run, not for a workflow".to_owned()))
            }
            (None, None, true, false) => Ok(Steer::Pause),
            (None, None, false, true) => Ok(Steer::Resume),
            _ => Err(wrong("name exactly one of `vus`, `rate`, `pause` and `resume`".to_owned())),
        }
    }
}

fn read<T: DeserializeOwned>(params: Map<String, Value>) -> Result<T, RpcError> {
    serde_json::from_value(Value::Object(params))
        .map_err(|error| RpcError::new(INVALID_PARAMS, format!("wrong parameters: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, params: Value) -> Result<Method, RpcError> {
        let Value::Object(params) = params else { panic!("not an object") };
        Method::read(name, params)
    }

    #[test]
    fn control_takes_exactly_one_change() {
        let control = |params| method("jobs.control", params);
        let steer = Steer::Vus { workflow: Some("Browse".parse().unwrap()), vus: 5 };
        assert_eq!(
            control(json!({"job": "j", "workflow": "Browse", "vus": 5})),
            Ok(Method::JobsControl { job: "j".into(), steer })
        );
        for wrong in [
            json!({"job": "j"}),
            json!({"job": "j", "vus": 5, "rate": "5/s"}),
            json!({"job": "j", "pause": true, "resume": true}),
            json!({"job": "j", "pause": true, "workflow": "Browse"}),
            json!({"job": "j", "vus": limits::VUS_MAX + 1}),
            json!({"job": "j", "vus": -1}),
            json!({"job": "j", "rate": 5}),
            json!({"job": "j", "vu": 5}),
            json!({"vus": 5}),
        ] {
            let error = control(wrong.clone()).unwrap_err();
            assert_eq!(error.code, INVALID_PARAMS, "{wrong}");
        }
    }

    #[test]
    fn every_named_method_is_read_and_others_are_not() {
        for name in Method::NAMES {
            let params = json!({"job": "j", "pause": true});
            let read = method(name, params).or_else(|_| method(name, json!({"job": "j"})));
            let read = read.or_else(|_| method(name, json!({})));
            assert_eq!(read.unwrap().name(), name);
        }
        assert_eq!(method("jobs.explode", json!({})).unwrap_err().code, METHOD_NOT_FOUND);
    }
}
