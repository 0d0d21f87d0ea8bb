//! The generated parts of `docs/benchmarks.md`, one per author; what others wrote around them is kept. Pure.

fn begin(author: &str) -> String {
    format!("<!-- begin: written by `{author}` -->")
}

fn end(author: &str) -> String {
    format!("<!-- end: written by `{author}` -->")
}

const SKELETON: &str = "\
# Benchmarks

How they are made: client and server are pinned to a core each; clients run one after the other, in rotated order, again
and again; a ratio compares runs of the same repetition, and the table shows the median of these ratios. Requests are
counted by the server, CPU time (user and system) by the kernel, peak memory is `VmHWM`. The honest cost is the client's
CPU time per request: requests per second also depend on who of the two is slower.

`cargo xtask bench` repeats all of it, `cargo xtask bench --quick` some of it.
";

/// The document with the part of an author, the command that writes it, exchanged; appended if it has none. A document
/// without text gets an introduction.
pub(crate) fn with_generated(document: &str, author: &str, generated: &str) -> String {
    let part = format!("{}\n{}\n{}", begin(author), generated.trim_end(), end(author));
    match split(document, author) {
        Some((before, _, after)) => format!("{before}{part}{after}"),
        None if document.trim().is_empty() => format!("{SKELETON}\n{part}\n"),
        None => format!("{}\n\n{part}\n", document.trim_end()),
    }
}

/// The part that an author has written before, if there is one.
pub(crate) fn generated<'d>(document: &'d str, author: &str) -> Option<&'d str> {
    split(document, author).map(|(_, generated, _)| generated)
}

/// What stands before, in and after the part of an author.
fn split<'d>(document: &'d str, author: &str) -> Option<(&'d str, &'d str, &'d str)> {
    let (before, rest) = document.split_once(&begin(author))?;
    let (generated, after) = rest.split_once(&end(author))?;
    Some((before, generated, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BENCH: &str = "cargo xtask bench";

    #[test]
    fn authors_keep_off_each_others_parts() {
        let first =
            with_generated(&with_generated("# Ours\n", BENCH, "engine 1"), "cargo xtask sim", "members 1");
        let second = with_generated(&first, BENCH, "engine 2");
        assert_eq!(second, first.replace("engine 1", "engine 2"));
        assert!(with_generated(&second, "cargo xtask sim", "members 2").contains("engine 2"));
    }

    #[test]
    fn only_the_generated_part_is_exchanged() {
        let first = with_generated("# Ours\n", BENCH, "old");
        let around = first.replace("# Ours", "# Ours\n\nhand-written") + "\n## Tasks\n";
        let second = with_generated(&around, BENCH, "new\n");
        assert_eq!(second, around.replace("old", "new"));
        assert_eq!(generated(&second, BENCH).map(str::trim), Some("new"));
        assert!(second.starts_with("# Ours\n\nhand-written\n") && second.ends_with("\n## Tasks\n"));
    }

    #[test]
    fn a_missing_document_gets_an_introduction() {
        let made = with_generated("", BENCH, "numbers");
        assert!(made.starts_with("# Benchmarks\n"));
        assert_eq!(with_generated(&made, BENCH, "numbers"), made);
    }

    #[test]
    fn a_lost_end_mark_loses_no_text() {
        let broken = format!("a\n{}\nb\n", begin(BENCH));
        assert!(with_generated(&broken, BENCH, "c").starts_with(broken.trim_end()));
    }
}
