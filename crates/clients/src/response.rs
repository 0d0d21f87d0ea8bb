//! An answer as far as somebody needs it.

/// A final answer: the last one of a call with redirects.
#[derive(Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The decoded body; empty unless somebody needs it.
    pub body: Vec<u8>,
    /// Names (in lower case) and values of the header fields, one after the other: two allocations per answer. Empty
    /// unless somebody needs them.
    fields: Vec<u8>,
    /// For each field the ends of its name and its value in `fields`.
    ends: Vec<(u32, u32)>,
}

impl Response {
    /// An answer with this status and nothing else yet.
    pub(crate) fn new(status: u16) -> Self {
        Response { status, ..Response::default() }
    }

    /// Appends a header field.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        self.fields.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        let name_end = self.fields.len() as u32;
        self.fields.extend_from_slice(value);
        self.ends.push((name_end, self.fields.len() as u32));
    }

    /// Header fields in the order they came, names in lower case.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut begin = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let name = &self.fields[begin..*name_end as usize];
            let value = &self.fields[*name_end as usize..*end as usize];
            begin = *end as usize;
            (std::str::from_utf8(name).expect("names of fields are ASCII"), value)
        })
    }

    /// The value of the first header field with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.header_all(name).next()
    }

    /// The values of all header fields with this lower-case name.
    pub fn header_all(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.headers().filter(move |(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The value of a cookie that the answer sets, as written; the last one if it is set several times.
    pub fn cookie(&self, name: &str) -> Option<&[u8]> {
        let pairs = self.header_all("set-cookie").filter_map(|field| {
            let pair = field.split(|byte| *byte == b';').next()?;
            let at = memchr::memchr(b'=', pair)?;
            Some((pair[..at].trim_ascii(), pair[at + 1..].trim_ascii()))
        });
        pairs.filter(|(found, _)| *found == name.as_bytes()).map(|(_, value)| value).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&str, &[u8])]) -> Response {
        let mut response = Response::new(200);
        for (name, value) in fields {
            response.push(name, value);
        }
        response
    }

    #[test]
    fn fields_are_found_by_lower_case_name() {
        let response = response(&[("X-Id", b"1"), ("Via", b"a"), ("x-ID", b"2"), ("Odd", b"\xe9")]);
        assert_eq!(response.header("x-id"), Some(&b"1"[..]));
        assert_eq!(response.header_all("x-id").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(response.header("odd"), Some(&b"\xe9"[..]));
        assert_eq!(response.header("nothing"), None);
        assert_eq!(response.headers().count(), 4);
    }

    #[test]
    fn the_last_of_several_cookies_of_a_name_counts() {
        let fields: [(&str, &[u8]); 3] =
            [("Set-Cookie", b"a=1; Path=/"), ("set-cookie", b"b=x=y"), ("set-cookie", b"a=2")];
        let response = response(&fields);
        assert_eq!(response.cookie("a"), Some(&b"2"[..]));
        assert_eq!(response.cookie("b"), Some(&b"x=y"[..]));
        assert_eq!(response.cookie("c"), None);
    }
}
