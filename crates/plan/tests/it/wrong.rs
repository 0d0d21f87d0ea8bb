//! Plans that are wrong: each file has a snapshot of what the user sees.

use std::fs;
use std::path::Path;

use hyperscale_plan::document::Format;
use hyperscale_plan::{Source, load, render};

use crate::common::{folder, load_file, world};

#[test]
fn every_wrong_plan_says_all_that_is_wrong() {
    let mut paths: Vec<_> = fs::read_dir(folder("wrong"))
        .expect("the folder is there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    paths.sort();
    assert!(paths.len() >= 60);
    for path in paths {
        let problems = load_file(&path).map(|_| ()).expect_err(&path.display().to_string());
        let name = path.file_name().and_then(|name| name.to_str()).expect("plain names");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(name, render(&problems));
        });
    }
}

/// Bytes that are no text cannot stand in a file of a repository.
#[test]
fn bytes_that_are_no_text_are_refused_in_words() {
    let large = vec![b' '; (1 << 20) + 1];
    for (bytes, wanted) in [
        (&b"name: \xff\xfe"[..], "not UTF-8"),
        (b"\xff\xfen\0a\0", "UTF-16"),
        (b"name: a\0b", "NUL"),
        (&large, "bytes large"),
        (b"", "nothing in the file"),
    ] {
        let problems = load(&Source::file(Path::new("p.yaml"), bytes), &world()).expect_err(wanted);
        assert!(problems[0].message.contains(wanted), "{}", render(&problems));
    }
}

#[test]
fn a_script_is_refused_in_words() {
    let problems =
        load(&Source::file(Path::new("plan.ts"), b"export const A = 1"), &world()).expect_err("a script");
    assert_eq!(render(&problems), "plan.ts: error: script plans are not supported yet\n");
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let bytes = b"\xef\xbb\xbfworkflows: { A: { steps: { a: { http: http://localhost/ } } } }";
    load(&Source::file(Path::new("p.yaml"), bytes), &world()).expect("the mark means nothing");
}

#[test]
fn a_format_is_seen_from_the_content() {
    for (text, format) in [
        ("# c\nname: x", Format::Yaml),
        ("- x = y", Format::Yaml),
        ("name: a=b", Format::Yaml),
        ("\n# c\nname = 'x'", Format::Toml),
        ("[workflows.A]", Format::Toml),
        ("  {\"a\": 1}", Format::Json),
    ] {
        assert_eq!(Format::of_text(text), format, "{text}");
    }
}

#[test]
fn problems_are_data_too() {
    let problems =
        load(&Source::file(Path::new("p.yaml"), b"nmae: x\n"), &world()).expect_err("no workflows");
    let json = serde_json::to_string_pretty(&problems).expect("problems are data");
    insta::assert_snapshot!("problems_as_json", json);
}
