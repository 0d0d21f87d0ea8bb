//! An answer as far as somebody needs it.

use httparse::Header;

/// A final answer: the last one of a call with redirects.
#[derive(Debug, Default)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header fields; empty unless somebody needs them.
    pub headers: Headers,
    /// The decoded body; empty unless somebody needs it.
    pub body: Vec<u8>,
}

impl Response {
    /// Names and values of the cookies that the answer sets, as written, attributes cut off.
    pub fn set_cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.all("set-cookie").filter_map(|field| {
            let pair = field.split(';').next()?;
            pair.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
        })
    }

    /// The value of a cookie that the answer sets; the last one if it is set several times.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.set_cookies().filter(|(found, _)| *found == name).map(|(_, value)| value).last()
    }
}

/// Header fields in the order they came. One text holds them all: two allocations per answer.
#[derive(Debug, Default)]
pub struct Headers {
    text: String,
    /// For each field the ends of its name (lower case) and its value in `text`.
    ends: Vec<(u32, u32)>,
}

impl Headers {
    /// Copies the fields of an answer. Bytes of values that are not UTF-8 are read as Latin-1.
    pub(crate) fn copy(fields: &[Header<'_>]) -> Self {
        let bytes = fields.iter().map(|field| field.name.len() + field.value.len()).sum();
        let mut headers =
            Headers { text: String::with_capacity(bytes), ends: Vec::with_capacity(fields.len()) };
        for field in fields {
            headers.push(field.name, field.value);
        }
        headers
    }

    /// Appends a field.
    pub(crate) fn push(&mut self, name: &str, value: &[u8]) {
        self.text.extend(name.chars().map(|c| c.to_ascii_lowercase()));
        let name_end = self.text.len() as u32;
        match std::str::from_utf8(value) {
            Ok(value) => self.text.push_str(value),
            Err(_) => self.text.extend(value.iter().map(|byte| char::from(*byte))),
        }
        self.ends.push((name_end, self.text.len() as u32));
    }

    /// The value of the first field with this lower-case name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The values of all fields with this lower-case name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.iter().filter(move |(found, _)| *found == name).map(|(_, value)| value)
    }

    /// All fields, names in lower case.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut begin = 0;
        self.ends.iter().map(move |(name_end, end)| {
            let name = &self.text[begin..*name_end as usize];
            let value = &self.text[*name_end as usize..*end as usize];
            begin = *end as usize;
            (name, value)
        })
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(fields: &[(&str, &[u8])]) -> Response {
        let fields: Vec<Header<'_>> = fields.iter().map(|(name, value)| Header { name, value }).collect();
        Response { headers: Headers::copy(&fields), ..Response::default() }
    }

    #[test]
    fn fields_are_found_by_lower_case_name() {
        let response = response(&[("X-Id", b"1"), ("Via", b"a"), ("x-ID", b"2"), ("Odd", b"\xe9")]);
        assert_eq!(response.headers.get("x-id"), Some("1"));
        assert_eq!(response.headers.all("x-id").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(response.headers.get("odd"), Some("é"));
        assert_eq!(response.headers.get("nothing"), None);
        assert_eq!(response.headers.len(), 4);
    }

    #[test]
    fn the_last_of_several_cookies_of_a_name_counts() {
        let response =
            response(&[("Set-Cookie", b"a=1; Path=/"), ("set-cookie", b"b=x=y"), ("set-cookie", b"a=2")]);
        assert_eq!(response.cookie("a"), Some("2"));
        assert_eq!(response.cookie("b"), Some("x=y"));
        assert_eq!(response.cookie("c"), None);
    }
}
