//! What people want to know of a certificate: for whom, from whom, how long. Reads just that much of X.509 (RFC 5280);
//! whether it is to be trusted is decided by rustls, never here.

/// Names of one certificate that are kept.
const NAMES_MAX: usize = 100;

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const ORGANIZATION: &[u8] = &[0x55, 0x04, 0x0a];
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 0x11];

const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const DNS_NAME: u8 = 0x82;
const IP_ADDRESS: u8 = 0x87;

/// Facts of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Certificate {
    /// Common name, else organization, of whom it is for; empty if it has neither.
    pub subject: String,
    /// The same of who issued it.
    pub issuer: String,
    /// When it begins to be valid, `2026-01-31 12:00:00` (UTC).
    pub not_before: String,
    /// When it ends to be valid.
    pub not_after: String,
    /// Names and addresses it is valid for.
    pub names: Vec<String>,
}

impl Certificate {
    /// Reads DER; `None` if it is not a certificate.
    pub fn read(der: &[u8]) -> Option<Certificate> {
        let mut outer = Der(Der(der).take(SEQUENCE)?);
        let mut tbs = Der(outer.take(SEQUENCE)?);
        tbs.take(VERSION);
        tbs.take(INTEGER)?; // serial number
        tbs.take(SEQUENCE)?; // signature algorithm
        let issuer = name(tbs.take(SEQUENCE)?);
        let mut validity = Der(tbs.take(SEQUENCE)?);
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        let subject = name(tbs.take(SEQUENCE)?);
        tbs.take(SEQUENCE)?; // public key
        let mut names = Vec::new();
        while let Some((tag, content)) = tbs.next() {
            if tag == EXTENSIONS {
                names = Der(content).take(SEQUENCE).map(alternative_names).unwrap_or_default();
            }
        }
        Some(Certificate { subject, issuer, not_before, not_after, names })
    }
}

/// Elements of DER: tag, length, content.
struct Der<'d>(&'d [u8]);

impl<'d> Der<'d> {
    fn next(&mut self) -> Option<(u8, &'d [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(*first) {
            short @ 0..0x80 => (short, rest),
            long => {
                let (bytes, rest) =
                    rest.split_at_checked(long & 0x7f).filter(|(bytes, _)| (1..=4).contains(&bytes.len()))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
            }
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The next element, if it has this tag; it stays otherwise.
    fn take(&mut self, tag: u8) -> Option<&'d [u8]> {
        let before = self.0;
        match self.next() {
            Some((found, content)) if found == tag => Some(content),
            _ => {
                self.0 = before;
                None
            }
        }
    }
}

/// The common name of a distinguished name, else its organization.
fn name(der: &[u8]) -> String {
    let (mut common, mut organization) = (None, None);
    let mut sets = Der(der);
    while let Some((_, set)) = sets.next() {
        let mut attributes = Der(set);
        while let Some((_, attribute)) = attributes.next() {
            let mut parts = Der(attribute);
            let (Some((_, kind)), Some((_, value))) = (parts.next(), parts.next()) else { continue };
            let text = || Some(printable(value));
            match kind {
                COMMON_NAME => common = common.or_else(text),
                ORGANIZATION => organization = organization.or_else(text),
                _ => {}
            }
        }
    }
    common.or(organization).unwrap_or_default()
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn time(der: &mut Der<'_>) -> Option<String> {
    let (tag, text) = der.next()?;
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let text = match tag {
        UTC_TIME => format!("{}{text}", if text >= "50" { "19" } else { "20" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |at: std::ops::Range<usize>| text.get(at);
    Some(format!(
        "{}-{}-{} {}:{}:{}",
        part(0..4)?,
        part(4..6)?,
        part(6..8)?,
        part(8..10)?,
        part(10..12)?,
        part(12..14)?
    ))
}

fn alternative_names(extensions: &[u8]) -> Vec<String> {
    let mut extensions = Der(extensions);
    while let Some((_, extension)) = extensions.next() {
        let mut parts = Der(extension);
        if parts.next().is_none_or(|(_, kind)| kind != ALTERNATIVE_NAMES) {
            continue;
        }
        parts.take(0x01); // critical
        let names = parts.take(OCTETS).and_then(|octets| Der(octets).take(SEQUENCE)).unwrap_or_default();
        let mut names = Der(names);
        return std::iter::from_fn(|| names.next()).filter_map(general_name).take(NAMES_MAX).collect();
    }
    Vec::new()
}

fn general_name((tag, value): (u8, &[u8])) -> Option<String> {
    match tag {
        DNS_NAME => Some(printable(value)),
        IP_ADDRESS => match value.len() {
            4 => <[u8; 4]>::try_from(value).ok().map(|octets| std::net::Ipv4Addr::from(octets).to_string()),
            16 => <[u8; 16]>::try_from(value).ok().map(|octets| std::net::Ipv6Addr::from(octets).to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A certificate is made by anybody: nothing of it may control a terminal.
fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).take(256).collect()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    #[test]
    fn facts_are_those_of_the_certificate() {
        let mut params = CertificateParams::new(["example.test".to_owned(), "127.0.0.1".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "An Example\u{7}");
        params.not_before = rcgen::date_time_ymd(2024, 2, 29);
        params.not_after = rcgen::date_time_ymd(2051, 1, 2);
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let read = Certificate::read(certificate.der()).unwrap();
        assert_eq!((read.subject.as_str(), read.issuer.as_str()), ("An Example", "An Example"));
        assert_eq!(
            (read.not_before.as_str(), read.not_after.as_str()),
            ("2024-02-29 00:00:00", "2051-01-02 00:00:00")
        );
        assert_eq!(read.names, ["example.test", "127.0.0.1"]);
    }

    #[test]
    fn fuzz_certificate() {
        bolero::check!(name = "certificate").for_each(|bytes: &[u8]| {
            if let Some(read) = Certificate::read(bytes) {
                assert!(!read.subject.contains(char::is_control) && read.names.len() <= NAMES_MAX);
            }
        });
    }
}
