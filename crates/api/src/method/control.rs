//! Parameters of `jobs.control`: exactly one change of the load.

use hyperscale_types::{Command, Name, Rate, limits};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{RequestId, checked_job, invalid, read};
use crate::error::RpcError;

/// Changes the load of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Control {
    /// The job's id.
    pub job: String,
    /// The change.
    pub steer: Steer,
    /// By which a repetition is recognised.
    pub request_id: Option<RequestId>,
}

/// A change of the load of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Steer {
    /// Start no iterations until resumed.
    Pause,
    /// Resume after a pause.
    Resume,
    /// Start no further iterations, let running ones finish, end.
    Stop,
    /// Run this many virtual users (closed models).
    Vus {
        /// The workflow; all that run and fit, if `None`.
        workflow: Option<Name>,
        /// Virtual users.
        vus: u32,
    },
    /// Start iterations at this rate (open models).
    Rate {
        /// The workflow; all that run and fit, if `None`.
        workflow: Option<Name>,
        /// Starts per second.
        rate: Rate,
    },
}

impl From<Steer> for Command {
    fn from(steer: Steer) -> Self {
        match steer {
            Steer::Pause => Command::Pause,
            Steer::Resume => Command::Resume,
            Steer::Stop => Command::Finish,
            Steer::Vus { workflow, vus } => Command::SetVus { workflow, vus },
            Steer::Rate { workflow, rate } => Command::SetRate { workflow, rate },
        }
    }
}

/// The parameters before it is known that they agree with each other.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    job: String,
    workflow: Option<Name>,
    vus: Option<u32>,
    rate: Option<Rate>,
    #[serde(default)]
    pause: bool,
    #[serde(default)]
    resume: bool,
    #[serde(default)]
    stop: bool,
    request_id: Option<RequestId>,
}

impl Control {
    /// A change without a request id.
    pub fn new(job: impl Into<String>, steer: Steer) -> Self {
        Self { job: job.into(), steer, request_id: None }
    }

    pub(super) fn read(params: Map<String, Value>) -> Result<Self, RpcError> {
        let mut params: Params = read(params)?;
        checked_job(&params.job)?;
        let (job, request_id) = (std::mem::take(&mut params.job), params.request_id.take());
        Ok(Self { job, steer: params.steer()?, request_id })
    }

    pub(super) fn params(&self) -> Value {
        let job = &self.job;
        let mut params = match &self.steer {
            Steer::Pause => json!({ "job": job, "pause": true }),
            Steer::Resume => json!({ "job": job, "resume": true }),
            Steer::Stop => json!({ "job": job, "stop": true }),
            Steer::Vus { vus, .. } => json!({ "job": job, "vus": vus }),
            Steer::Rate { rate, .. } => json!({ "job": job, "rate": rate }),
        };
        if let Steer::Vus { workflow: Some(name), .. } | Steer::Rate { workflow: Some(name), .. } =
            &self.steer
        {
            params["workflow"] = json!(name);
        }
        if let Some(id) = &self.request_id {
            params["request_id"] = json!(id);
        }
        params
    }
}

impl Params {
    fn steer(self) -> Result<Steer, RpcError> {
        let workflow = self.workflow;
        let flag = match (self.pause, self.resume, self.stop) {
            (false, false, false) => None,
            (true, false, false) => Some(Steer::Pause),
            (false, true, false) => Some(Steer::Resume),
            (false, false, true) => Some(Steer::Stop),
            _ => return Err(not_one()),
        };
        match (self.vus, self.rate, flag) {
            (Some(vus), None, None) if vus > limits::VUS_MAX => {
                Err(invalid(format!("a workflow has at most {} virtual users", limits::VUS_MAX)))
            }
            (Some(vus), None, None) => Ok(Steer::Vus { workflow, vus }),
            (None, Some(rate), None) => Ok(Steer::Rate { workflow, rate }),
            (None, None, Some(_)) if workflow.is_some() => {
                Err(invalid("`pause`, `resume` and `stop` are for the whole run, not for a workflow"))
            }
            (None, None, Some(steer)) => Ok(steer),
            _ => Err(not_one()),
        }
    }
}

fn not_one() -> RpcError {
    invalid("name exactly one of `vus`, `rate`, `pause`, `resume` and `stop`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    fn control(params: Value) -> Result<Control, RpcError> {
        let Value::Object(params) = params else { panic!("not an object") };
        Control::read(params)
    }

    #[test]
    fn control_takes_exactly_one_change() {
        let steer = Steer::Vus { workflow: Some("Browse".parse().unwrap()), vus: 5 };
        assert_eq!(
            control(json!({"job": "j", "workflow": "Browse", "vus": 5})),
            Ok(Control::new("j", steer))
        );
        for wrong in [
            json!({"job": "j"}),
            json!({"job": "j", "vus": 5, "rate": "5/s"}),
            json!({"job": "j", "pause": true, "resume": true}),
            json!({"job": "j", "stop": true, "vus": 1}),
            json!({"job": "j", "pause": true, "workflow": "Browse"}),
            json!({"job": "j", "vus": limits::VUS_MAX + 1}),
            json!({"job": "j", "vus": -1}),
            json!({"job": "j", "rate": 5}),
            json!({"job": "j", "vu": 5}),
            json!({"vus": 5}),
        ] {
            assert!(control(wrong.clone()).unwrap_err().is(ErrorCode::InvalidParams), "{wrong}");
        }
    }

    #[test]
    fn every_change_is_read_as_it_was_written() {
        let workflow: Option<Name> = Some("Browse".parse().unwrap());
        for steer in [
            Steer::Pause,
            Steer::Resume,
            Steer::Stop,
            Steer::Vus { workflow: workflow.clone(), vus: 3 },
            Steer::Rate { workflow, rate: "10/s".parse().unwrap() },
        ] {
            let written = Control { request_id: Some("r".parse().unwrap()), ..Control::new("j", steer) };
            assert_eq!(control(written.params()), Ok(written));
        }
    }
}
