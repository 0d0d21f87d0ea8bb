//! The flags of curl: which take a value, which mean something for a request, which do not.

/// What a flag does to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Method,
    Header,
    Data,
    DataRaw,
    DataBinary,
    DataUrlencode,
    Json,
    Form,
    FormString,
    User,
    Cookie,
    UserAgent,
    Referer,
    Proxy,
    Timeout,
    ConnectTimeout,
    Upload,
    RedirectsMax,
    CaFile,
    CertFile,
    KeyFile,
    Unix,
    Bearer,
    Range,
    Url,
    Get,
    Head,
    Insecure,
    Location,
    Compressed,
    Http11,
    Http2,
    Digest,
    /// About what curl prints or writes.
    Output,
    /// Known, but a plan cannot say it.
    Unsupported,
    /// Not known.
    Unknown,
}

/// Where the value of a flag is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    None,
    Attached(String),
    Next,
}

/// A flag as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Flag {
    pub(super) name: String,
    pub(super) effect: Effect,
    pub(super) value: Value,
}

/// Short and long name, effect, whether it takes a value. No short name is a space.
const FLAGS: &[(char, &str, Effect, bool)] = &[
    ('X', "request", Effect::Method, true),
    ('H', "header", Effect::Header, true),
    ('d', "data", Effect::Data, true),
    (' ', "data-ascii", Effect::Data, true),
    (' ', "data-raw", Effect::DataRaw, true),
    (' ', "data-binary", Effect::DataBinary, true),
    (' ', "data-urlencode", Effect::DataUrlencode, true),
    (' ', "json", Effect::Json, true),
    ('F', "form", Effect::Form, true),
    (' ', "form-string", Effect::FormString, true),
    ('u', "user", Effect::User, true),
    ('b', "cookie", Effect::Cookie, true),
    ('A', "user-agent", Effect::UserAgent, true),
    ('e', "referer", Effect::Referer, true),
    ('x', "proxy", Effect::Proxy, true),
    ('m', "max-time", Effect::Timeout, true),
    (' ', "connect-timeout", Effect::ConnectTimeout, true),
    ('T', "upload-file", Effect::Upload, true),
    (' ', "max-redirs", Effect::RedirectsMax, true),
    (' ', "cacert", Effect::CaFile, true),
    ('E', "cert", Effect::CertFile, true),
    (' ', "key", Effect::KeyFile, true),
    (' ', "unix-socket", Effect::Unix, true),
    (' ', "oauth2-bearer", Effect::Bearer, true),
    ('r', "range", Effect::Range, true),
    (' ', "url", Effect::Url, true),
    ('G', "get", Effect::Get, false),
    ('I', "head", Effect::Head, false),
    ('k', "insecure", Effect::Insecure, false),
    ('L', "location", Effect::Location, false),
    (' ', "location-trusted", Effect::Location, false),
    (' ', "compressed", Effect::Compressed, false),
    (' ', "http1.1", Effect::Http11, false),
    (' ', "http2", Effect::Http2, false),
    (' ', "http2-prior-knowledge", Effect::Http2, false),
    (' ', "digest", Effect::Digest, false),
    ('o', "output", Effect::Output, true),
    (' ', "output-dir", Effect::Output, true),
    ('w', "write-out", Effect::Output, true),
    ('D', "dump-header", Effect::Output, true),
    ('c', "cookie-jar", Effect::Output, true),
    (' ', "stderr", Effect::Output, true),
    (' ', "trace", Effect::Output, true),
    (' ', "trace-ascii", Effect::Output, true),
    ('O', "remote-name", Effect::Output, false),
    ('J', "remote-header-name", Effect::Output, false),
    (' ', "create-dirs", Effect::Output, false),
    ('s', "silent", Effect::Output, false),
    ('S', "show-error", Effect::Output, false),
    ('v', "verbose", Effect::Output, false),
    ('i', "include", Effect::Output, false),
    (' ', "show-headers", Effect::Output, false),
    ('f', "fail", Effect::Output, false),
    (' ', "fail-with-body", Effect::Output, false),
    (' ', "fail-early", Effect::Output, false),
    ('N', "no-buffer", Effect::Output, false),
    ('#', "progress-bar", Effect::Output, false),
    (' ', "no-progress-meter", Effect::Output, false),
    (' ', "styled-output", Effect::Output, false),
    (' ', "basic", Effect::Output, false),
    ('g', "globoff", Effect::Output, false),
    ('Z', "parallel", Effect::Unsupported, false),
    ('0', "http1.0", Effect::Unsupported, false),
    (' ', "http3", Effect::Unsupported, false),
    (' ', "http3-only", Effect::Unsupported, false),
    ('4', "ipv4", Effect::Unsupported, false),
    ('6', "ipv6", Effect::Unsupported, false),
    ('j', "junk-session-cookies", Effect::Unsupported, false),
    (' ', "path-as-is", Effect::Unsupported, false),
    (' ', "ntlm", Effect::Unsupported, false),
    (' ', "negotiate", Effect::Unsupported, false),
    (' ', "anyauth", Effect::Unsupported, false),
    (' ', "post301", Effect::Unsupported, false),
    (' ', "post302", Effect::Unsupported, false),
    (' ', "post303", Effect::Unsupported, false),
    (' ', "tcp-nodelay", Effect::Unsupported, false),
    (' ', "tlsv1.2", Effect::Unsupported, false),
    (' ', "tlsv1.3", Effect::Unsupported, false),
    (' ', "ssl-no-revoke", Effect::Unsupported, false),
    (' ', "retry-all-errors", Effect::Unsupported, false),
    (' ', "retry-connrefused", Effect::Unsupported, false),
    ('n', "netrc", Effect::Unsupported, false),
    ('q', "disable", Effect::Unsupported, false),
    (' ', "retry", Effect::Unsupported, true),
    (' ', "retry-delay", Effect::Unsupported, true),
    (' ', "retry-max-time", Effect::Unsupported, true),
    (' ', "resolve", Effect::Unsupported, true),
    (' ', "connect-to", Effect::Unsupported, true),
    (' ', "interface", Effect::Unsupported, true),
    (' ', "limit-rate", Effect::Unsupported, true),
    (' ', "max-filesize", Effect::Unsupported, true),
    (' ', "ciphers", Effect::Unsupported, true),
    (' ', "tls-max", Effect::Unsupported, true),
    (' ', "capath", Effect::Unsupported, true),
    (' ', "pass", Effect::Unsupported, true),
    (' ', "cert-type", Effect::Unsupported, true),
    (' ', "key-type", Effect::Unsupported, true),
    (' ', "dns-servers", Effect::Unsupported, true),
    (' ', "doh-url", Effect::Unsupported, true),
    (' ', "aws-sigv4", Effect::Unsupported, true),
    (' ', "keepalive-time", Effect::Unsupported, true),
    (' ', "noproxy", Effect::Unsupported, true),
    (' ', "preproxy", Effect::Unsupported, true),
    (' ', "socks5", Effect::Unsupported, true),
    (' ', "socks5-hostname", Effect::Unsupported, true),
    (' ', "request-target", Effect::Unsupported, true),
    (' ', "url-query", Effect::Unsupported, true),
    ('U', "proxy-user", Effect::Unsupported, true),
    ('K', "config", Effect::Unsupported, true),
    ('z', "time-cond", Effect::Unsupported, true),
    ('C', "continue-at", Effect::Unsupported, true),
    ('Y', "speed-limit", Effect::Unsupported, true),
    ('y', "speed-time", Effect::Unsupported, true),
    ('t', "telnet-option", Effect::Unsupported, true),
];

/// Flags of one word: a long one, or one or more short ones.
pub(super) fn parse(word: &str) -> Vec<Flag> {
    if let Some(long) = word.strip_prefix("--") {
        let found = FLAGS.iter().find(|(_, name, ..)| *name == long);
        let (effect, takes) = found.map_or((Effect::Unknown, false), |(.., effect, takes)| (*effect, *takes));
        let value = if takes { Value::Next } else { Value::None };
        return vec![Flag { name: word.to_owned(), effect, value }];
    }
    let mut flags = Vec::new();
    let mut rest = word[1..].chars();
    while let Some(short) = rest.next() {
        let found = FLAGS.iter().find(|(name, ..)| *name == short && short != ' ');
        let (effect, takes) = found.map_or((Effect::Unknown, false), |(.., effect, takes)| (*effect, *takes));
        let value = match (takes, rest.as_str()) {
            (false, _) => Value::None,
            (true, "") => Value::Next,
            (true, attached) => Value::Attached(attached.to_owned()),
        };
        flags.push(Flag { name: format!("-{short}"), effect, value });
        if takes {
            break;
        }
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(name: &str, effect: Effect, value: Value) -> Flag {
        Flag { name: name.to_owned(), effect, value }
    }

    #[test]
    fn short_flags_can_be_joined_and_carry_their_value() {
        assert_eq!(
            parse("-sSL"),
            [
                short("-s", Effect::Output, Value::None),
                short("-S", Effect::Output, Value::None),
                short("-L", Effect::Location, Value::None),
            ]
        );
        assert_eq!(parse("-XPUT"), [short("-X", Effect::Method, Value::Attached("PUT".into()))]);
        assert_eq!(
            parse("-kd"),
            [short("-k", Effect::Insecure, Value::None), short("-d", Effect::Data, Value::Next)]
        );
    }

    #[test]
    fn names_stand_once() {
        for (at, (short, long, ..)) in FLAGS.iter().enumerate() {
            let same = |other: &&(char, &str, Effect, bool)| {
                (other.0 == *short && *short != ' ') || other.1 == *long
            };
            assert_eq!(FLAGS[at..].iter().filter(same).count(), 1, "{short} {long}");
        }
    }
}
