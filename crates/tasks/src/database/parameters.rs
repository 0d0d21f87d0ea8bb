//! Takes `sslmode` and `sslrootcert` out of a URL or a list of parameters: the driver knows fewer values of the one and not the other.

/// A text with what was taken out of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    pub(super) rest: String,
    pub(super) sslmode: Option<String>,
    pub(super) sslrootcert: Option<String>,
}

impl Parameters {
    pub(super) fn take(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            Self::from_url(text)
        } else {
            Self::from_list(text)
        }
    }

    fn from_url(text: &str) -> Self {
        let Some((place, query)) = text.split_once('?') else {
            return Self { rest: text.to_owned(), ..Self::default() };
        };
        let mut all = Self::default();
        let mut others = Vec::new();
        for part in query.split('&') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if !all.keep(name, &percent_decoded(value)) {
                others.push(part);
            }
        }
        all.rest = if others.is_empty() { place.to_owned() } else { format!("{place}?{}", others.join("&")) };
        all
    }

    fn from_list(text: &str) -> Self {
        let mut all = Self::default();
        let mut others = Vec::new();
        for part in parts(text) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if !all.keep(name.trim(), &unquoted(value.trim())) {
                others.push(part);
            }
        }
        all.rest = others.join(" ");
        all
    }

    /// Keeps one of ours.
    fn keep(&mut self, name: &str, value: &str) -> bool {
        match name {
            "sslmode" => self.sslmode = Some(value.to_owned()),
            "sslrootcert" => self.sslrootcert = Some(value.to_owned()),
            _ => return false,
        }
        true
    }
}

/// The `name=value` parts of a list; blanks around `=` and in quotes do not divide.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut is_quoted, mut is_escaped) = (Vec::new(), None, false, false);
    let is_around_equals =
        |at: usize| text[..at].trim_end().ends_with('=') || text[at..].trim_start().starts_with('=');
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '\'' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted && !is_around_equals(at) => {
                parts.extend(begin.take().map(|begin| &text[begin..at]));
                continue;
            }
            _ => {}
        }
        if !c.is_whitespace() {
            begin.get_or_insert(at);
        }
    }
    parts.extend(begin.map(|begin| &text[begin..]));
    parts
}

fn unquoted(value: &str) -> String {
    let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value);
    let mut text = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        text.extend(if c == '\\' { chars.next() } else { Some(c) });
    }
    text
}

/// `%2F` and its like as the bytes they stand for.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        let hex = others.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%');
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { &others[2..] } else { others };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> (String, Option<String>, Option<String>) {
        let Parameters { rest, sslmode, sslrootcert } = Parameters::take(text);
        (rest, sslmode, sslrootcert)
    }

    #[test]
    fn parameters_are_taken_out_of_urls_and_lists() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            taken("postgres://a@h/d?sslmode=require&connect_timeout=3&sslrootcert=%2Fca.pem"),
            ("postgres://a@h/d?connect_timeout=3".to_owned(), some("require"), some("/ca.pem"))
        );
        assert_eq!(
            taken("host=h sslmode = 'verify-ca'  password='a b\\' c' sslrootcert='/my ca.pem'"),
            ("host=h password='a b\\' c'".to_owned(), some("verify-ca"), some("/my ca.pem"))
        );
        assert_eq!(taken("postgres://a@h/d"), ("postgres://a@h/d".to_owned(), None, None));
        assert_eq!(taken("host=h  user=a"), ("host=h user=a".to_owned(), None, None));
    }
}
