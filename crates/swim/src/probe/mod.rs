//! Probing: one round per period, and the help given to the rounds of others.
//!
//! ```text
//!            period start             timeout                        period end
//!                 │                      │                               │
//! Idle ─────► Direct ── no ack ──► Indirect ──────── no ack ─────────► failed: suspect it,
//!                 │       probe → target │  ping-req → k helpers         │   helpers that owe a nack
//!                 │                      │  stream probe → target        │   are asked themselves
//!                 │ ack                  │  ack (direct, relayed, stream)│
//!                 └────► Answered ◄──────┘  nack: the helper is well     │
//!                           └──────────────────────────────────────────► next round
//! ```
//!
//! | state    | ack of this round | nack of this round | timeout  | period end    |
//! | -------- | ----------------- | ------------------ | -------- | ------------- |
//! | Idle     | ignored           | ignored            | ignored  | nothing       |
//! | Direct   | Answered          | ignored            | Indirect | failed        |
//! | Indirect | Answered          | helper is counted  | ignored  | failed        |
//! | Answered | ignored           | ignored            | ignored  | answered      |
//!
//! Answers and timers of former rounds are recognised by the probe's number.

mod astray;
mod relay;
mod round;

pub use astray::ASTRAY_MAX;
pub(crate) use astray::Astray;
pub use relay::RELAYS_MAX;
pub(crate) use relay::{Relay, Relays};
pub(crate) use round::{Outcome, Round};
