//! The result as JSON.

use hyperscale_report::{ReadError, read_result, to_json};

use crate::runs::{eventful, simple};

#[test]
fn a_result_is_read_back_as_it_was_written() {
    for result in [simple(), eventful()] {
        for pretty in [false, true] {
            let text = to_json(&result, pretty);
            assert_eq!(text.contains('\n'), pretty);
            assert_eq!(read_result(text.as_bytes()).unwrap(), result);
        }
    }
}

#[test]
fn the_json_keeps_its_shape() {
    let mut result = simple();
    result.workflows[0].steps[0].times.latency_buckets.truncate(2); // they are many, and all alike
    insta::assert_snapshot!(to_json(&result, true));
}

#[test]
fn what_is_no_result_is_refused_with_a_reason() {
    assert!(matches!(read_result(b"not json"), Err(ReadError::Shape(_))));
    assert!(matches!(read_result(b"{}"), Err(ReadError::Shape(_))));
    let newer = read_result(br#"{"version": 2}"#).unwrap_err();
    assert_eq!(newer.to_string(), "the result has version 2; this program reads version 1");
}

#[test]
fn additions_of_a_later_release_are_ignored() {
    let text = to_json(&simple(), false).replacen('{', r#"{"added_later": [1, 2],"#, 1);
    assert_eq!(read_result(text.as_bytes()).unwrap(), simple());
}
