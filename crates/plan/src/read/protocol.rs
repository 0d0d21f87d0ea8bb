//! The protocols of client calls as a plan sees them: their keys, the fields of their results, their readers. A new
//! protocol is one more variant here, with the reader of its arguments in a folder of its own.

use super::Reader;
use super::plan::Defaults;
use super::view::View;
use crate::document::Node;
use crate::model::Call;
use crate::model::step::Needs;

/// A protocol that steps can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http,
    #[cfg(feature = "test-protocol")]
    Echo,
}

/// A field of a call's result, and what has to be kept of the response for it.
pub(super) struct ResultField {
    pub(super) name: &'static str,
    pub(super) needs: Needs,
}

const RESULT: Needs = Needs { result: true, headers: false, body: false };
const HEADERS: Needs = Needs { headers: true, ..RESULT };
const BODY: Needs = Needs { body: true, ..RESULT };

impl Protocol {
    pub(super) const ALL: &[Protocol] = &[
        Protocol::Http,
        #[cfg(feature = "test-protocol")]
        Protocol::Echo,
    ];
    pub(super) const COUNT: usize = Self::ALL.len();

    /// Its key in steps and in `defaults`.
    pub(super) const fn key(self) -> &'static str {
        match self {
            Protocol::Http => "http",
            #[cfg(feature = "test-protocol")]
            Protocol::Echo => "echo",
        }
    }

    /// The fields of its results, in the order in which they are listed to people.
    pub(super) const fn result_fields(self) -> &'static [ResultField] {
        match self {
            Protocol::Http => &[
                ResultField { name: "status", needs: RESULT },
                ResultField { name: "json", needs: BODY },
                ResultField { name: "body", needs: BODY },
                ResultField { name: "headers", needs: HEADERS },
                ResultField { name: "latency_ms", needs: RESULT },
            ],
            #[cfg(feature = "test-protocol")]
            Protocol::Echo => {
                &[ResultField { name: "body", needs: BODY }, ResultField { name: "json", needs: BODY }]
            }
        }
    }

    /// What a reference to a result needs of the response; without a field, to all of it.
    pub(super) fn needs(self, field: Option<&str>) -> Needs {
        let named = |known: &&ResultField| field.is_none_or(|field| known.name == field);
        self.result_fields().iter().filter(named).fold(RESULT, |needs, field| needs.and(field.needs))
    }

    /// The protocol with this key.
    pub(super) fn of(key: &str) -> Option<Protocol> {
        Self::ALL.iter().copied().find(|protocol| protocol.key() == key)
    }
}

impl Reader<'_> {
    /// A call of this protocol. `expect` is the step's.
    pub(super) fn call(
        &self,
        protocol: Protocol,
        node: &Node,
        expect: Option<&Node>,
        view: View<'_>,
        defaults: [Defaults<'_>; 2],
    ) -> Option<Call> {
        let defaults = defaults.map(|defaults| defaults.of(protocol));
        match protocol {
            Protocol::Http => self.http(node, expect, view, defaults).map(|http| Call::Http(Box::new(http))),
            #[cfg(feature = "test-protocol")]
            Protocol::Echo => self.template(node, &view).map(|text| Call::Echo(crate::model::Echo { text })),
        }
    }
}
