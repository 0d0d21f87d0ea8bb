//! Rules about single files: size, opening line, texts that must not stand in them.

use std::path::Path;

use super::{Finding, architecture};

/// Lines of a Rust file after which it wants splitting, and after which it must be split.
const LINES_WARN: usize = 500;
const LINES_MAX: usize = 800;

/// Rust texts that must not be committed. Written in two parts so that this file does not contain them.
const FORBIDDEN_IN_RUST: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "finish it or open an issue"),
    (concat!("FIX", "ME"), "fix it or open an issue"),
    (concat!("todo", "!("), "finish it"),
    (concat!("unimplemented", "!("), "finish it"),
    (concat!("dbg", "!("), "remove it"),
    (concat!("#[ign", "ore"), "a test that does not run proves nothing"),
    (concat!("#[all", "ow("), "use #[expect(…, reason = \"…\")]"),
    (concat!("#![all", "ow("), "use #![expect(…, reason = \"…\")]"),
];

/// Paths of somebody's machine; forbidden in every text file.
const MACHINE_PATHS: &[&str] =
    &[concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/Us", "ers/")];

/// Openings that mark a file in which every line may run per request.
const HOT: &[&str] = &["//! HOT", "//! Hot:"];

/// What a hot file must not contain outside of its tests: locks, boxed calls, logs, prints.
const FORBIDDEN_WHEN_HOT: &[&str] =
    &["Mutex", "RwLock", "Box<dyn", "&dyn", "&mut dyn", "println!", "tracing::"];

/// What a pure crate must not contain outside of its tests: clocks, threads, random maps, and ways around the lint that
/// bans what would be called by another name.
const FORBIDDEN_WHEN_PURE: &[&str] = &[
    "Instant",
    "SystemTime",
    "UNIX_EPOCH",
    "std::thread",
    "RandomState",
    "HashMap::new",
    "disallowed_methods",
];

/// Checks one file.
pub(super) fn check(path: &str, text: &str, errors: &mut Vec<Finding>, warnings: &mut Vec<Finding>) {
    errors.extend(machine_paths(path, text));
    if Path::new(path).extension().is_some_and(|extension| extension == "rs") {
        errors.extend(forbidden(path, text));
        errors.extend(opening(path, text));
        errors.extend(hot(path, text));
        errors.extend(impure(path, text));
        errors.extend(test_layout(path));
        size(path, text, errors, warnings);
    }
}

fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let found = find(text, MACHINE_PATHS.iter().copied());
    found
        .map(|(line, part)| Finding::new(format!("{path}:{line}"), format!("names a machine's path: {part}")))
        .collect()
}

fn forbidden(path: &str, text: &str) -> Vec<Finding> {
    FORBIDDEN_IN_RUST
        .iter()
        .flat_map(|(part, advice)| {
            find(text, [*part]).map(move |(line, part)| {
                Finding::new(format!("{path}:{line}"), format!("contains '{part}': {advice}"))
            })
        })
        .collect()
}

/// Lines, counted from 1, that contain one of the parts.
fn find<'a>(
    text: &'a str,
    parts: impl IntoIterator<Item = &'a str> + Clone,
) -> impl Iterator<Item = (usize, &'a str)> {
    text.lines().enumerate().flat_map(move |(index, line)| {
        parts.clone().into_iter().filter(move |part| line.contains(part)).map(move |part| (index + 1, part))
    })
}

/// Sources say in their first line what they are; tests beside them need not.
fn opening(path: &str, text: &str) -> Option<Finding> {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/tests.rs");
    (is_source && !text.starts_with("//!")).then(|| {
        Finding::new(path, "does not begin with a module comment: what it owns, what it must never do")
    })
}

/// Hot files say so in their first line, and keep to it.
fn hot(path: &str, text: &str) -> Vec<Finding> {
    let is_marked = |line: &str| HOT.iter().any(|mark| line.starts_with(mark));
    let mut lines = text.lines();
    if !lines.next().is_some_and(is_marked) {
        let late = lines.any(is_marked);
        return Vec::from_iter(
            late.then(|| Finding::new(path, "is hot but does not say so in its first line")),
        );
    }
    in_product(path, text, FORBIDDEN_WHEN_HOT, "is hot")
}

/// The same input gives the same output: pure crates read no clock.
fn impure(path: &str, text: &str) -> Vec<Finding> {
    let mut is_pure = architecture::pure_folders().map(|folder| format!("crates/{folder}/src/"));
    if is_pure.any(|source| path.starts_with(&source)) && !path.contains("/tests") {
        return in_product(path, text, FORBIDDEN_WHEN_PURE, "is pure");
    }
    Vec::new()
}

/// Parts that stand in the code of a file, before its tests.
fn in_product(path: &str, text: &str, parts: &[&str], but: &str) -> Vec<Finding> {
    let product = text.split("#[cfg(test)]").next().unwrap_or(text);
    let found = find(product, parts.iter().copied()).filter(|(line, _)| !is_comment(product, *line));
    found
        .map(|(line, part)| Finding::new(format!("{path}:{line}"), format!("{but} but contains '{part}'")))
        .collect()
}

fn is_comment(text: &str, line: usize) -> bool {
    text.lines().nth(line - 1).is_some_and(|line| line.trim_start().starts_with("//"))
}

/// One integration binary per crate: each further one is linked anew.
fn test_layout(path: &str) -> Option<Finding> {
    let mut parts = path.split('/').skip_while(|part| *part != "tests").skip(1);
    let first = parts.next()?;
    let is_crate_test = path.starts_with("crates/") && !path.contains("/src/");
    (is_crate_test && first != "it").then(|| Finding::new(path, "integration tests live in tests/it/"))
}

fn size(path: &str, text: &str, errors: &mut Vec<Finding>, warnings: &mut Vec<Finding>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        errors.push(Finding::new(path, format!("has {lines} lines; split it by role (limit {LINES_MAX})")));
    } else if lines > LINES_WARN {
        warnings.push(Finding::new(path, format!("has {lines} lines and wants splitting by role")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(path: &str, text: &str) -> Vec<String> {
        let mut errors = Vec::new();
        check(path, text, &mut errors, &mut Vec::new());
        errors.into_iter().map(|finding| format!("{}: {}", finding.place, finding.rule)).collect()
    }

    #[test]
    fn clean_file_has_no_findings() {
        assert_eq!(errors("crates/a/src/b.rs", "//! Owns b.\n\nfn b() {}\n"), [""; 0]);
    }

    #[test]
    fn forbidden_texts_are_found_with_their_line() {
        for (part, _) in FORBIDDEN_IN_RUST {
            let found = errors("crates/a/src/b.rs", &format!("//! Owns b.\n// {part}x\n"));
            assert_eq!(found.len(), 1, "{part}");
            assert!(found[0].starts_with("crates/a/src/b.rs:2: contains"), "{found:?}");
        }
    }

    #[test]
    fn machine_paths_are_found_in_every_file() {
        let text = format!("see {}me/notes\n", MACHINE_PATHS[0]);
        assert_eq!(errors("docs/a.md", &text).len(), 1);
    }

    #[test]
    fn sources_open_with_a_module_comment() {
        assert_eq!(errors("crates/a/src/b.rs", "fn b() {}\n").len(), 1);
        assert_eq!(errors("crates/a/src/b/tests.rs", "fn b() {}\n"), [""; 0]);
    }

    #[test]
    fn hot_files_say_so_first_and_take_no_locks() {
        let late = errors("crates/a/src/b.rs", "//! Owns b.\n//! HOT: nothing is allowed.\n");
        assert_eq!(late, ["crates/a/src/b.rs: is hot but does not say so in its first line"]);
        let locked = errors("crates/a/src/b.rs", "//! HOT: no lock.\nuse std::sync::Mutex;\n");
        assert_eq!(locked, ["crates/a/src/b.rs:2: is hot but contains 'Mutex'"]);
        let fine = "//! HOT: no lock.\n// not even a Mutex\nfn b() {}\n#[cfg(test)]\nmod tests { use std::sync::Mutex; }\n";
        assert_eq!(errors("crates/a/src/b.rs", fine), [""; 0]);
    }

    #[test]
    fn pure_crates_read_no_clock() {
        for code in
            ["let now = Instant::now();", "UNIX_EPOCH.elapsed()", "#[expect(clippy::disallowed_methods)]"]
        {
            let found = errors("crates/swim/src/a.rs", &format!("//! Owns a.\n{code}\n"));
            assert_eq!(found.len(), 1, "{code}: {found:?}");
            assert_eq!(errors("crates/engine/src/a.rs", &format!("//! Owns a.\n{code}\n")), [""; 0]);
        }
        let fine = "//! Owns a.\n// No Instant.\n#[cfg(test)]\nmod tests { use std::time::Instant; }\n";
        assert_eq!(errors("crates/swim/src/a.rs", fine), [""; 0]);
    }

    #[test]
    fn further_integration_binaries_are_found() {
        assert_eq!(errors("crates/a/tests/it/main.rs", ""), [""; 0]);
        assert_eq!(errors("crates/a/tests/other.rs", "").len(), 1);
    }

    #[test]
    fn long_files_warn_first_and_fail_later() {
        let lines = |count: usize| "//! x\n".repeat(count);
        let judge = |count| {
            let (mut errors, mut warnings) = (Vec::new(), Vec::new());
            check("crates/a/src/b.rs", &lines(count), &mut errors, &mut warnings);
            (errors.len(), warnings.len())
        };
        assert_eq!(judge(LINES_WARN), (0, 0));
        assert_eq!(judge(LINES_WARN + 1), (0, 1));
        assert_eq!(judge(LINES_MAX + 1), (1, 0));
    }
}
