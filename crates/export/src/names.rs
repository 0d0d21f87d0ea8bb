//! Every name that leaves this crate, in one place: metrics, and the labels on them.
//!
//! Metrics are named `hyperscale_<area>_<noun>_<unit>[_total]`; `_total` marks what only grows. The guide has the same
//! list for people, and a test holds both against each other.

/// What a metric's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A sum since the run began. It never falls.
    Counter,
    /// A number of this moment.
    Gauge,
    /// A distribution since the run began.
    Histogram,
}

/// One metric.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// Its name in every format.
    pub name: &'static str,
    /// What its numbers mean.
    pub kind: Kind,
    /// The unit as OTLP wants it (UCUM): `s`, `By`, `1`, or what is counted in braces.
    pub unit: &'static str,
    /// For people.
    pub help: &'static str,
}

/// The id of the run.
pub const JOB: &str = "job";
/// The name of the plan.
pub const NAME: &str = "name";
/// A workflow.
pub const WORKFLOW: &str = "workflow";
/// A step of it.
pub const STEP: &str = "step";
/// `load`, or `setup` for steps of set-up and tear-down.
pub const PART: &str = "part";
/// `ok` or `failed`.
pub const OUTCOME: &str = "outcome";
/// Kind of an error.
pub const KIND: &str = "kind";
/// Status of an answer.
pub const STATUS: &str = "status";
/// A percentile as a fraction; 0 is the smallest value, 1 the largest.
pub const QUANTILE: &str = "quantile";
/// Upper bound of a bucket.
pub const LE: &str = "le";
/// A check.
pub const CHECK: &str = "check";
/// A metric of the plan.
pub const METRIC: &str = "metric";
/// A threshold as it was written.
pub const RULE: &str = "rule";
/// Kind of an exporter.
pub const EXPORTER: &str = "exporter";
/// Where an exporter sends to.
pub const TARGET: &str = "target";

macro_rules! metrics {
    ($($constant:ident = $kind:ident $name:literal [$unit:literal] $help:literal;)*) => {
        $(#[doc = $help] pub static $constant: Metric =
            Metric { name: $name, kind: Kind::$kind, unit: $unit, help: $help };)*
        /// All of them.
        pub static ALL: &[&Metric] = &[$(&$constant),*];
    };
}

metrics! {
    ELAPSED = Gauge "hyperscale_run_elapsed_seconds" ["s"] "Time since the run began";
    FINISHED = Gauge "hyperscale_run_finished" ["1"] "1 when these are the final numbers";
    SATURATED = Gauge "hyperscale_generator_saturated" ["1"] "1 if the load generator itself is or was the bottleneck";
    CORES = Gauge "hyperscale_generator_cores" ["{core}"] "Cores that run load";
    BUSIEST_CORE = Gauge "hyperscale_generator_busiest_core_ratio" ["1"] "Share of the last second that the busiest core was busy";
    MEMORY = Gauge "hyperscale_generator_memory_bytes" ["By"] "Memory of the load generator";
    THRESHOLD_OK = Gauge "hyperscale_threshold_ok" ["1"] "1 if the threshold holds";
    THRESHOLD_VALUE = Gauge "hyperscale_threshold_value" ["1"] "What the threshold is held against: seconds, per second, fraction or number";
    EXPORT_SENT = Counter "hyperscale_export_sent_total" ["{state}"] "States of the run that an exporter delivered; for a scrape endpoint, scrapes";
    EXPORT_LOST = Counter "hyperscale_export_lost_total" ["{state}"] "States of the run that an exporter could not deliver";
    VUS = Gauge "hyperscale_run_vus" ["{vu}"] "Active virtual users";
    SCHEDULED = Counter "hyperscale_run_iterations_scheduled_total" ["{iteration}"] "Intended starts (open models)";
    STARTED = Counter "hyperscale_run_iterations_started_total" ["{iteration}"] "Iterations begun";
    COMPLETED = Counter "hyperscale_run_iterations_completed_total" ["{iteration}"] "Iterations without a failed step";
    FAILED = Counter "hyperscale_run_iterations_failed_total" ["{iteration}"] "Iterations with a failed step";
    INTERRUPTED = Counter "hyperscale_run_iterations_interrupted_total" ["{iteration}"] "Iterations cut off by the end of the run";
    DROPPED = Counter "hyperscale_run_iterations_dropped_total" ["{iteration}"] "Intended starts that never began";
    LATE = Counter "hyperscale_run_iterations_late_total" ["{iteration}"] "Starts that found no free virtual user or began too late";
    MISSED = Counter "hyperscale_run_iterations_missed_total" ["{iteration}"] "Starts that were due while an iteration took too long (paced models)";
    LAG = Gauge "hyperscale_run_lag_seconds" ["s"] "How long after their intended times starts were dispatched (open models)";
    NOW_RATE = Gauge "hyperscale_run_now_calls_per_second" ["{call}/s"] "Calls of the newest full second";
    NOW_LATENCY = Gauge "hyperscale_run_now_latency_seconds" ["s"] "Latency of the calls that were ok in the newest full second";
    REQUESTS = Counter "hyperscale_run_requests_total" ["{request}"] "Requests whose last byte was handed to the kernel";
    RETRIES = Counter "hyperscale_run_retries_total" ["{request}"] "Requests sent again because the server had not processed them";
    CALLS = Counter "hyperscale_run_calls_total" ["{call}"] "Calls of a step that have ended";
    ERRORS = Counter "hyperscale_run_errors_total" ["{call}"] "Failed calls by kind of error";
    ANSWERS = Counter "hyperscale_run_answers_total" ["{answer}"] "Answers by status";
    SKIPPED = Counter "hyperscale_run_skipped_total" ["{call}"] "Times a step did not run";
    RATE = Gauge "hyperscale_run_calls_per_second" ["{call}/s"] "Calls per second over the whole time of the load";
    SENT = Counter "hyperscale_run_sent_bytes_total" ["By"] "Bytes written to connections";
    RECEIVED = Counter "hyperscale_run_received_bytes_total" ["By"] "Bytes read from connections";
    LATENCY = Histogram "hyperscale_run_latency_seconds" ["s"] "Latency from the intended start";
    LATENCY_QUANTILE = Gauge "hyperscale_run_latency_quantile_seconds" ["s"] "Exact percentiles of the same latency, over the whole run";
    CHECKS = Counter "hyperscale_run_checks_total" ["{check}"] "Checks by outcome";
    METRIC_VALUES = Counter "hyperscale_metric_values_total" ["{value}"] "Values of a metric of the plan";
    METRIC_SUM = Gauge "hyperscale_metric_sum" ["1"] "Its values added up (count)";
    METRIC_RATIO = Gauge "hyperscale_metric_ratio" ["1"] "Share of its values that are not zero (rate)";
    METRIC_LAST = Gauge "hyperscale_metric_last" ["1"] "Its newest value (sample)";
    METRIC_QUANTILE = Gauge "hyperscale_metric_quantile" ["1"] "Its percentiles (sample, distribution; timing in seconds)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_and_are_unique() {
        for metric in ALL {
            let name = metric.name;
            assert!(name.starts_with("hyperscale_"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(metric.kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert_eq!(ALL.iter().filter(|other| other.name == name).count(), 1, "{name}");
        }
    }
}
