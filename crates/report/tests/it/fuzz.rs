//! Fuzz harness of results that are read back: files of other versions, other programs, or nobody's.

use hyperscale_report::{Compared, TextOptions, read_result, summary, to_json};
use hyperscale_stats::compare::compare;

/// Whatever a file says: it is refused, or it can be shown, compared with itself, and written back the same.
#[test]
fn fuzz_result() {
    bolero::check!(name = "result").for_each(|bytes: &[u8]| {
        let Ok(result) = read_result(bytes) else { return };
        let written = to_json(&result, false);
        if let Ok(again) = read_result(written.as_bytes()) {
            assert_eq!(to_json(&again, false), written);
        }
        let _ = summary(&result, TextOptions::default());
        let comparison = compare(&result, &result);
        let _ = Compared { a: &result, b: &result, comparison: &comparison }.text(TextOptions::default());
    });
}
