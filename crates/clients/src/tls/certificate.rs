//! What people want to know of a certificate: for whom, from whom, how long. Whether it is to be trusted is decided by
//! rustls, never here.

use std::net::{Ipv4Addr, Ipv6Addr};

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate, X509Name};
use x509_parser::time::ASN1Time;

/// Names of one certificate that are kept.
const NAMES_MAX: usize = 100;
/// Characters of one name that are kept.
const NAME_CHARS_MAX: usize = 256;

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
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let validity = certificate.validity();
        Some(Certificate {
            subject: name(certificate.subject()),
            issuer: name(certificate.issuer()),
            not_before: time(validity.not_before),
            not_after: time(validity.not_after),
            names: alternative_names(&certificate),
        })
    }
}

/// The common name of a distinguished name, else its organization.
fn name(name: &X509Name<'_>) -> String {
    let mut texts = name.iter_common_name().chain(name.iter_organization());
    texts.find_map(|text| text.as_str().ok()).map(printable).unwrap_or_default()
}

fn time(time: ASN1Time) -> String {
    let time = time.to_datetime();
    let (date, hour, minute, second) = (time.date(), time.hour(), time.minute(), time.second());
    format!("{date} {hour:02}:{minute:02}:{second:02}")
}

fn alternative_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = certificate.subject_alternative_name() else { return Vec::new() };
    extension.value.general_names.iter().filter_map(general_name).take(NAMES_MAX).collect()
}

fn general_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(printable(name)),
        GeneralName::IPAddress(octets) => match octets.len() {
            4 => <[u8; 4]>::try_from(*octets).ok().map(|octets| Ipv4Addr::from(octets).to_string()),
            16 => <[u8; 16]>::try_from(*octets).ok().map(|octets| Ipv6Addr::from(octets).to_string()),
            _ => None,
        },
        _ => None,
    }
}

/// A certificate is made by anybody: nothing of it may control a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect()
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
