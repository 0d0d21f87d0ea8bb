//! What clients want of a job that is led here.

use hyperscale_consensus::register::JobId;
use hyperscale_job::{Answer, Input};
use hyperscale_stats::result::ChangedBy;
use hyperscale_types::{Command, Now};

use crate::manager::queue::position;
use crate::manager::{JobMachine, Manager, Output, Rejection, RequestNumber, Response};

impl<M: JobMachine> Manager<M> {
    /// A client changes the load of a job; false if its plan is not read yet.
    pub(in crate::manager) fn steer(
        &mut self,
        now: Now,
        id: JobId,
        request: RequestNumber,
        command: Command,
        out: &mut Vec<Output>,
    ) -> bool {
        let is_driving = self.led.get_mut(&id).is_some_and(|led| led.driving().is_some());
        if is_driving {
            self.command(now, id, Some(request), command, out);
        }
        is_driving
    }

    pub(super) fn command(
        &mut self,
        now: Now,
        id: JobId,
        request: Option<RequestNumber>,
        command: Command,
        out: &mut Vec<Output>,
    ) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let number = drive.next_request;
        drive.next_request += 1;
        if let Some(request) = request {
            drive.requests.insert(number, request);
        }
        self.with_core(now, id, Input::Request { id: number, by: ChangedBy::Control, command }, out);
    }

    pub(super) fn reply(&mut self, id: JobId, request: u64, answer: Answer, out: &mut Vec<Output>) {
        let Some(drive) = self.led.get_mut(&id).and_then(|led| led.driving()) else { return };
        let Some(request) = drive.requests.remove(&request) else { return };
        let response = match answer {
            Ok(_) => Response::Controlled,
            Err(refusal) => Response::Rejected(Rejection::Refused(refusal.to_string())),
        };
        out.push(Output::Respond { request, response });
    }

    /// How a job is, if its core runs here.
    pub(in crate::manager) fn view(
        &mut self,
        now: Now,
        id: JobId,
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let led = self.led.get_mut(&id)?;
        let token = led.token();
        let drive = led.driving()?;
        let actions = drive.feed(now, Input::Timer);
        let result = Box::new(drive.core.view().result);
        self.perform(now, id, actions, out);
        let queue_position = self.register().and_then(|register| position(register, id));
        Some(Response::Running { token, result, queue_position })
    }

    /// How far a cancel of the named workflows is, and of all that it is about; if the core of the job runs here.
    pub(in crate::manager) fn cancellation(
        &mut self,
        now: Now,
        id: JobId,
        (named, all): (&[String], &[String]),
        out: &mut Vec<Output>,
    ) -> Option<Response> {
        let drive = self.led.get_mut(&id)?.driving()?;
        let actions = drive.feed(now, Input::Timer);
        let workflows = drive.core.cancellation(named, all);
        self.perform(now, id, actions, out);
        let is_complete = workflows.iter().all(|workflow| workflow.status.is_settled());
        Some(Response::Cancellation { workflows, is_complete })
    }
}
