//! Limits that several crates share. A limit of one crate stands in that crate.

use crate::{ByteSize, Span};

/// Redirect hops of one call unless the plan says otherwise.
pub const REDIRECTS_MAX: u32 = 10;
/// Body bytes of one response unless the plan says otherwise.
pub const BODY_MAX: ByteSize = ByteSize(10 << 20);
/// Bytes of a response head; longer is a protocol error.
pub const RESPONSE_HEAD_MAX: usize = 64 << 10;
/// Header fields of a response; more is a protocol error.
pub const RESPONSE_HEADERS_MAX: usize = 256;
/// Time of one call unless the plan says otherwise.
pub const CALL_TIMEOUT: Span = Span::from_secs(30);
/// Time in which running iterations may finish after the end of a workflow.
pub const GRACEFUL_STOP: Span = Span::from_secs(30);
/// Time that calls in flight get after a cancel or a threshold abort.
pub const CANCEL_GRACE: Span = Span::from_secs(5);
/// Time that calls in flight get after the end of a lease.
pub const ISOLATION_GRACE: Span = Span::from_millis(200);
/// Largest number of virtual users of one workflow.
pub const VUS_MAX: u32 = 1_000_000;
/// Values kept for `pick: all`.
pub const PICK_ALL_MAX: usize = 10_000;
/// Bytes of the values that one workflow provides.
pub const CONTEXT_BYTES_MAX: usize = 1 << 20;
/// Bytes of a plan file.
pub const PLAN_BYTES_MAX: u64 = 1 << 20;
/// Queued open-model starts of one core; what comes on top is dropped and counted.
pub const QUEUED_STARTS_MAX: usize = 1_000_000;
/// A start that begins later than this after its intended time is `late`.
pub const LATE_AFTER: Span = Span::from_millis(10);
/// Interval of a statistics window on a core.
pub const WINDOW: Span = Span::from_millis(100);
/// Points of the time series in a result; longer runs get coarser points.
pub const SERIES_POINTS_MAX: usize = 3_600;
/// Distinct error messages kept per step and kind; others are counted under the kind.
pub const ERROR_MESSAGES_MAX: usize = 16;
/// Changes of the load that a result lists; others are counted.
pub const CHANGES_MAX: usize = 1_000;
/// Attempts at segments that a result lists; others are counted.
pub const ATTEMPTS_MAX: usize = 1_000;
/// Distinct tag sets kept per step; others are counted without tags.
pub const TAG_SETS_MAX: usize = 100;
