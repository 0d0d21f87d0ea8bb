//! A protocol for tests: no peer, no status; the response is the text of the call.

use std::rc::Rc;

use hyperscale_plan::model::Echo;
use hyperscale_plan::template::{Escape, Scope, Template};
use hyperscale_types::{ErrorKind, Phases};

use crate::contract::{PrepareError, Protocol, Terms};
use crate::{CallError, Known, Outcome, Progress, Response, Shared, clock};

/// The echo of one core.
pub struct EchoClient(Rc<Shared>);

impl Protocol for EchoClient {
    type Call = Echo;
    type Prepared = Template;
    type Session = ();

    fn new(shared: Rc<Shared>) -> Rc<Self> {
        Rc::new(EchoClient(shared))
    }

    async fn prepare<S: Scope>(
        self: &Rc<Self>,
        call: &Echo,
        _: Terms,
        _: &Known<'_, S>,
    ) -> Result<Template, PrepareError> {
        Ok(call.text.clone())
    }

    async fn call<S: Scope>(&self, (): &(), text: &Template, scope: &S, progress: &Progress) -> Outcome {
        let started = clock::now();
        progress.start(started);
        let mut body = Vec::new();
        let filled = text.fill(scope, Escape::None, &mut body);
        let error = filled.err().map(|error| CallError::new(ErrorKind::Template, error.to_string()));
        let error = error.or_else(|| self.0.lease.check(started).err().map(CallError::from));
        let answered = error.is_none();
        let mut response = Response::default();
        response.body = body;
        Outcome {
            started,
            ended: clock::now(),
            answered,
            status: None,
            error,
            phases: Phases::default(),
            response: answered.then(|| Box::new(response)),
            stream: None,
        }
    }
}
