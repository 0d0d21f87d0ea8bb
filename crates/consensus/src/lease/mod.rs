//! Leases as log state: rights with a time limit, where the log says who holds one and only the leader's clock ends it.
//!
//! ```text
//! holder                      leader                                  log
//!   │ counts from here          │                                      │
//!   ├── renewal ───────────────►│ counts from here                     │
//!   │                           ├── read-index round (begins now)      │
//!   │◄───────── answer ─────────┤ only after the round                 │
//!   │                           │                                      │
//!   │ stops at TTL·0.9 − 200 ms │ TTL over: proposes the expiry ──────►│ gone
//! ```
//!
//! A lease is a duration, never a point in time. The holder stops well before the granter gives up on it, whatever their
//! clocks do within 10 %. After a change of leader every lease gets a full TTL again: the new leader does not know when the
//! last renewal came. Once an expiry is proposed, renewals are refused: an answer could overtake it.
//!
//! The clocks behind [`hyperscale_types::Now`] must go on while a machine sleeps (boot time).

mod granter;
mod holder;
mod roll_call;

pub use granter::{CLAIMS_MAX, Claim, Expiry, Granter, LeaseError};
pub use holder::{Holder, MARGIN};
pub use roll_call::{ROLL_CALL, RollCall};
