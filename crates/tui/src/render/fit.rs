//! Texts for the room there is: shorter words first, then an ellipsis that says that something is missing.

use ratatui::text::{Line, Span};

/// The first of several ways to say the same that fits; if none does, the last of them, cut.
pub(super) fn first_that_fits(forms: impl IntoIterator<Item = Line<'static>>, width: usize) -> Line<'static> {
    let mut last = Line::default();
    for form in forms {
        if form.width() <= width {
            return form;
        }
        last = form;
    }
    cut_line(last, width)
}

/// A text cut to so many cells, the last of which says that it was cut.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// A text cut in its middle: names that begin alike often differ at their end.
pub(super) fn cut_middle(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (first, last) = (kept / 2, kept - kept / 2);
    text.chars().take(first).chain(['…']).chain(text.chars().skip(count - last)).collect()
}

/// The same for a line of several spans.
pub(super) fn cut_line(line: Line<'_>, width: usize) -> Line<'_> {
    if line.width() <= width {
        return line;
    }
    let mut left = width.saturating_sub(1);
    let mut spans = Vec::new();
    for span in line.spans {
        if span.width() <= left {
            left -= span.width();
            spans.push(span);
        } else {
            let kept: String = span.content.chars().take(left).collect();
            spans.push(Span::styled(format!("{kept}…"), span.style));
            break;
        }
    }
    Line { spans, ..line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_texts_say_so() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "ab…");
        assert_eq!(cut("äöüß", 2), "ä…");
        assert_eq!(cut("abcd", 0), "…");
    }

    #[test]
    fn cut_names_keep_their_ends() {
        assert_eq!(cut_middle("abcdef", 6), "abcdef");
        assert_eq!(cut_middle("abcdef", 5), "ab…ef");
        assert_eq!(cut_middle("Checkout.confirm_step_2", 11), "Check…tep_2");
        assert_eq!(cut_middle("äöüß", 2), "…ß");
    }

    #[test]
    fn lines_are_cut_in_the_span_that_does_not_fit() {
        let line = || Line::from(vec![Span::raw("ab"), Span::raw("cdef")]);
        assert_eq!(cut_line(line(), 6).to_string(), "abcdef");
        assert_eq!(cut_line(line(), 5).to_string(), "abcd…");
        assert_eq!(cut_line(line(), 3).to_string(), "ab…");
        assert_eq!(cut_line(line(), 1).to_string(), "…");
    }

    #[test]
    fn shorter_words_come_before_an_ellipsis() {
        let forms = || ["a long text", "short"].map(Line::from);
        assert_eq!(first_that_fits(forms(), 11).to_string(), "a long text");
        assert_eq!(first_that_fits(forms(), 10).to_string(), "short");
        assert_eq!(first_that_fits(forms(), 4).to_string(), "sho…");
    }
}
