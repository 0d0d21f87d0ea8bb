//! The line of progress.

use std::time::Duration;

use hyperscale_report::{Progress, progress_line};
use hyperscale_stats::result::Status;

fn progress() -> Progress {
    Progress {
        elapsed: Duration::from_secs(15),
        planned: Some(Duration::from_mins(4)),
        workflows: vec![
            ("Auth".into(), Status::Completed),
            ("Browse".into(), Status::Running),
            ("Search".into(), Status::Running),
            ("Report".into(), Status::Pending),
        ],
        vus: 1_234,
        rate: 2_000.4,
        p50_us: Some(1_234.0),
        p99_us: Some(34_567.0),
        failed: 3,
    }
}

#[test]
fn one_line_says_it_all() {
    assert_eq!(
        progress_line(&progress()),
        "15.0s of 4m00s  Browse, Search running (1 completed, 1 pending)  vus 1,234  2,000/s  p50 1.23ms  p99 34.6ms  failed 3"
    );
}

#[test]
fn what_is_not_known_is_not_invented() {
    let early = Progress {
        planned: None,
        workflows: Vec::new(),
        p50_us: None,
        p99_us: None,
        rate: 0.0,
        ..progress()
    };
    assert_eq!(progress_line(&early), "15.0s  vus 1,234  0.0/s  p50 –  p99 –  failed 3");
}
