//! Where in a URL a hole stands, and how its value is written there.
//!
//! Decided by what is written in the plan, never by values: the same in every iteration, and the same for whoever
//! checks the plan and whoever runs it (ADR 9).

use super::{Escape, Piece, Template};

/// How far into a URL the pieces before have led.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Scheme, user, host and port, or a variable that has them.
    Start,
    Path,
    Query,
}

impl Template {
    /// The pieces of a URL, each with how a value that stands there is written.
    pub fn url_pieces(&self) -> impl Iterator<Item = (&Piece, Escape)> {
        let mut part = Part::Start;
        self.pieces().iter().map(move |piece| {
            let escape = part.escape();
            if let Piece::Const(text) = piece {
                part = part.after(text);
            }
            (piece, escape)
        })
    }
}

impl Part {
    const fn escape(self) -> Escape {
        match self {
            Part::Start => Escape::UrlVerbatim,
            Part::Path => Escape::UrlPath,
            Part::Query => Escape::Url,
        }
    }

    /// Where the URL is after this text.
    fn after(self, text: &str) -> Part {
        let rest = match self {
            Part::Start => match text.split_once("://") {
                Some((scheme, rest)) if !scheme.contains(['/', '?']) => rest,
                _ => text,
            },
            Part::Path | Part::Query => text,
        };
        match self {
            _ if rest.contains('?') => Part::Query,
            Part::Start if rest.contains('/') => Part::Path,
            part => part,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Names;
    use super::*;

    #[test]
    fn a_hole_is_written_as_its_place_in_the_url_wants_it() {
        use Escape::{Url, UrlPath, UrlVerbatim};
        for (url, wanted) in [
            ("{{ base }}", vec![UrlVerbatim]),
            ("{{ base }}{{ base }}/{{ base }}", vec![UrlVerbatim, UrlVerbatim, UrlPath]),
            ("http://{{ base }}:{{ vu.id }}/{{ base }}/x", vec![UrlVerbatim, UrlVerbatim, UrlPath]),
            ("{{ base }}://{{ base }}/{{ base }}", vec![UrlVerbatim, UrlVerbatim, UrlPath]),
            ("http{{ base }}://h/{{ base }}?{{ base }}/{{ base }}", vec![UrlVerbatim, UrlPath, Url, Url]),
            ("{{ base }}?q={{ base }}&u=http://{{ base }}", vec![UrlVerbatim, Url, Url]),
            ("http://h/http://{{ base }}", vec![UrlPath]),
            ("{{ base }}/to/http://{{ base }}", vec![UrlVerbatim, UrlPath]),
        ] {
            let template = Template::parse(url, &Names).expect("a template");
            let found: Vec<Escape> = template
                .url_pieces()
                .filter(|(piece, _)| matches!(piece, Piece::Hole(_)))
                .map(|(_, escape)| escape)
                .collect();
            assert_eq!(found, wanted, "{url}");
        }
    }
}
