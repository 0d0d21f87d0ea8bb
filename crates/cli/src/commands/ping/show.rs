//! What a person, or a script, sees of a ping.

use std::fmt::Write;
use std::time::Duration;

use hyperscale_clients::http::{Pong, Times};
use hyperscale_clients::network::Handshake;
use hyperscale_clients::tls::Certificate;
use hyperscale_plan::model::HttpRequest;
use hyperscale_plan::{UrlOptions, with_scheme};
use hyperscale_types::ErrorKind;
use hyperscale_types::secret::masked;
use serde_json::{Value, json};

use super::advice::advice;
use crate::errors::CommandError;
use crate::printer::Printer;
use crate::settings::Settings;

/// Columns of the bars.
const BAR_COLUMNS: usize = 40;

/// Where the words go.
pub(super) struct Face {
    title: String,
    url: String,
    method: String,
    count: u32,
    json: bool,
    printer: Printer,
}

impl Face {
    pub(super) fn new(
        options: &UrlOptions,
        request: &HttpRequest,
        count: u32,
        settings: Settings,
        printer: Printer,
    ) -> Self {
        let method = request.method.clone();
        let url = masked(&with_scheme(&options.url));
        Self { title: format!("{method} {url}"), url, method, count, json: settings.output.json, printer }
    }

    /// After each request: everything about the only one, a line about one of several.
    pub(super) fn each(&self, number: u32, pong: &Pong) -> Result<(), CommandError> {
        if !self.json {
            let text = if self.count == 1 { waterfall(&self.title, pong) } else { line(number, pong) };
            self.printer.data(&text).map_err(CommandError::Output)?;
        }
        Ok(())
    }

    /// After the last one.
    pub(super) fn summary(&self, pongs: &[Pong]) -> Result<(), CommandError> {
        let text = if self.json {
            format!("{}\n", self.document(pongs))
        } else if self.count > 1 {
            totals(&self.title, pongs)
        } else {
            String::new()
        };
        self.printer.data(&text).map_err(CommandError::Output)?;
        let Some(last) = pongs.last().filter(|_| !self.json) else { return Ok(()) };
        match &last.error {
            // Any answer is an answer, as the exit code says.
            Some(error) if last.status != 0 => {
                self.printer.note(format_args!("note: {}: {}", error.message, advice(error.kind)));
            }
            Some(error) => {
                self.printer.error(format_args!("{} failed", self.title), error, advice(error.kind));
            }
            None => {}
        }
        Ok(())
    }

    fn document(&self, pongs: &[Pong]) -> Value {
        let ok = pongs.iter().filter(|pong| pong.error.is_none()).count();
        json!({
            "url": self.url,
            "method": self.method,
            "ok": ok,
            "failed": pongs.len() - ok,
            "tls": pongs.last().and_then(|pong| pong.tls.as_ref()).map(handshake_document),
            "pings": pongs.iter().map(document).collect::<Vec<_>>(),
        })
    }
}

/// The phases of a request in the order in which they happen.
fn phases(pong: &Pong) -> [(&'static str, Option<Duration>); 6] {
    let Times { dns, connect, tls, write, wait, read } = pong.times;
    [("dns", dns), ("connect", connect), ("tls", tls), ("write", write), ("wait", wait), ("read", read)]
}

/// The phase that a request without an answer never came out of, and how long it was in it.
fn stuck(pong: &Pong) -> Option<(&'static str, Duration)> {
    let error = pong.error.as_ref().filter(|_| pong.status == 0)?;
    let phases = phases(pong);
    let last = phases.iter().rposition(|(_, time)| time.is_some());
    let phase = match (error.kind, last.map(|at| phases[at].0)) {
        (ErrorKind::Dns, _) => "dns",
        (ErrorKind::ConnectRefused | ErrorKind::ConnectTimeout, _) | (_, None | Some("dns")) => "connect",
        (ErrorKind::Tls, _) => "tls",
        (_, Some("connect" | "tls")) => "write",
        (_, Some("write")) => "wait",
        _ => "read",
    };
    let spent = phases.iter().filter(|(name, _)| *name != phase).filter_map(|(_, time)| *time).sum();
    Some((phase, pong.total.saturating_sub(spent)))
}

fn protocol(pong: &Pong) -> &'static str {
    if pong.is_http2 { "HTTP/2" } else { "HTTP/1.1" }
}

fn document(pong: &Pong) -> Value {
    let mut document = json!({
        "status": pong.status,
        "protocol": protocol(pong),
        "peer": pong.peer,
        "total_us": micros(pong.total),
        "requests": pong.requests,
        "bytes": { "sent": pong.bytes_sent, "received": pong.bytes_received },
    });
    let times = phases(pong).into_iter().filter_map(|(name, time)| Some((name.to_owned(), micros(time?))));
    document["phases_us"] = Value::Object(times.collect());
    if let Some(error) = &pong.error {
        document["error"] = json!({
            "kind": error.kind,
            "message": error.message,
            "phase": stuck(pong).map(|(phase, _)| phase),
            "fix": advice(error.kind),
        });
    }
    document
}

fn handshake_document(tls: &Handshake) -> Value {
    let certificate = |certificate: &Certificate| {
        json!({
            "subject": certificate.subject,
            "issuer": certificate.issuer,
            "not_before": certificate.not_before,
            "not_after": certificate.not_after,
            "names": certificate.names,
        })
    };
    json!({ "version": tls.version, "cipher": tls.cipher, "certificate": tls.certificate.as_ref().map(certificate) })
}

fn micros(time: Duration) -> Value {
    (time.as_nanos() as f64 / 1e3).into()
}

/// Bars from where each phase began to where it ended.
fn waterfall(title: &str, pong: &Pong) -> String {
    let mut text = format!("{title}\n");
    facts(pong, &mut text);
    text.push('\n');
    let total =
        pong.total.max(phases(pong).iter().filter_map(|(_, time)| *time).sum()).max(Duration::from_nanos(1));
    let column =
        |at: Duration| (at.as_secs_f64() / total.as_secs_f64() * BAR_COLUMNS as f64).round() as usize;
    let mut begin = Duration::ZERO;
    let stuck = stuck(pong);
    for (name, time) in phases(pong) {
        let stuck = stuck.filter(|(phase, _)| *phase == name).map(|(_, time)| time);
        let Some(time) = stuck.or(time) else { continue };
        let (from, to) = (column(begin).min(BAR_COLUMNS - 1), column(begin + time).min(BAR_COLUMNS));
        let width = to.saturating_sub(from).max(1);
        let (ink, end) = if stuck.is_some() { ("░", "  ✗") } else { ("█", "") };
        let bar = format!("{}{}", " ".repeat(from), ink.repeat(width));
        let _ = writeln!(text, "  {name:<8} │{bar:<BAR_COLUMNS$}│ {:>11}{end}", shown(time));
        begin += time;
    }
    let _ = writeln!(text, "  {:<8}  {:BAR_COLUMNS$}  {:>11}", "total", "", shown(pong.total));
    text
}

fn facts(pong: &Pong, text: &mut String) {
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<12} {value}");
    };
    if let Some(peer) = pong.peer {
        fact("address", peer.to_string());
    }
    if pong.status != 0 {
        fact("protocol", protocol(pong).to_owned());
    }
    if let Some(tls) = &pong.tls {
        fact("tls", format!("{}, {}", tls.version.replace('_', "."), tls.cipher));
        if let Some(certificate) = &tls.certificate {
            fact("certificate", format!("{}, from {}", certificate.subject, certificate.issuer));
            fact("valid", format!("{} to {} UTC", certificate.not_before, certificate.not_after));
            if !certificate.names.is_empty() {
                fact("for", certificate.names.join(", "));
            }
        }
    }
    if pong.status != 0 {
        let hops =
            if pong.requests > 1 { format!(" after {} requests", pong.requests) } else { String::new() };
        fact("status", format!("{}{hops}", pong.status));
    }
    fact("bytes", format!("{} sent, {} received", pong.bytes_sent, pong.bytes_received));
}

fn line(number: u32, pong: &Pong) -> String {
    let times = phases(pong).into_iter().filter_map(|(name, time)| Some(format!("{name} {}", shown(time?))));
    let times: Vec<String> = times.collect();
    let ended = pong.error.as_ref().map_or_else(|| pong.status.to_string(), |error| error.kind.to_string());
    format!("{number:>4}  {ended:<16} {:>11}   {}\n", shown(pong.total), times.join(", "))
}

fn totals(title: &str, pongs: &[Pong]) -> String {
    let ok: Vec<Duration> = pongs.iter().filter(|pong| pong.error.is_none()).map(|pong| pong.total).collect();
    let mut text =
        format!("\n{title}: {} sent, {} ok, {} failed\n", pongs.len(), ok.len(), pongs.len() - ok.len());
    if let (Some(least), Some(most)) = (ok.iter().min(), ok.iter().max()) {
        let mean = ok.iter().sum::<Duration>() / ok.len() as u32;
        let _ = writeln!(text, "min {}, mean {}, max {}", shown(*least), shown(mean), shown(*most));
    }
    text
}

/// Milliseconds, with as many digits as say something.
fn shown(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms >= 100.0 { format!("{ms:.0} ms") } else { format!("{ms:.3} ms") }
}

#[cfg(test)]
mod tests {
    use hyperscale_clients::CallError;

    use super::*;

    fn pong() -> Pong {
        let ms = |n: u64| Some(Duration::from_millis(n));
        Pong {
            status: 200,
            error: None,
            total: Duration::from_millis(400),
            times: Times {
                dns: ms(40),
                connect: ms(60),
                tls: ms(100),
                write: Some(Duration::from_micros(5)),
                wait: ms(150),
                read: ms(50),
            },
            peer: "192.0.2.1:443".parse().ok(),
            is_http2: true,
            tls: Some(Handshake {
                version: "TLSv1_3".into(),
                cipher: "TLS13_AES_256_GCM_SHA384".into(),
                alpn: Some("h2".into()),
                certificate: Some(Certificate {
                    subject: "shop.example".into(),
                    issuer: "Example Authority".into(),
                    not_before: "2026-01-01 00:00:00".into(),
                    not_after: "2027-01-01 00:00:00".into(),
                    names: vec!["shop.example".into(), "192.0.2.1".into()],
                }),
            }),
            requests: 2,
            bytes_sent: 120,
            bytes_received: 4_096,
        }
    }

    #[test]
    fn waterfall_shows_when_each_phase_was() {
        insta::assert_snapshot!(waterfall("GET https://shop.example/", &pong()));
    }

    #[test]
    fn the_phase_that_never_ended_is_drawn() {
        let failed = |kind, times| Pong {
            status: 0,
            error: Some(CallError { kind, message: "no".into(), unprocessed: None }),
            times,
            ..pong()
        };
        let times = Times { write: None, wait: None, read: None, ..pong().times };
        let hung = failed(ErrorKind::Timeout, Times { write: Some(Duration::from_millis(20)), ..times });
        assert_eq!(stuck(&hung), Some(("wait", Duration::from_millis(180))));
        assert!(waterfall("GET x", &hung).contains("░"), "{}", waterfall("GET x", &hung));
        assert_eq!(stuck(&failed(ErrorKind::Tls, times)), Some(("tls", Duration::from_millis(300))));
        let nothing = failed(ErrorKind::ConnectTimeout, Times::default());
        assert_eq!(stuck(&nothing), Some(("connect", Duration::from_millis(400))));
        assert_eq!(stuck(&pong()), None);
    }

    #[test]
    fn kept_connections_have_no_phases_of_connecting() {
        let kept = Pong { times: Times { dns: None, connect: None, tls: None, ..pong().times }, ..pong() };
        insta::assert_snapshot!(line(2, &kept));
        insta::assert_snapshot!(totals("GET https://shop.example/", &[pong(), kept]));
    }

    #[test]
    fn a_request_that_took_no_time_can_be_shown() {
        let none = Pong { total: Duration::ZERO, times: Times::default(), ..pong() };
        assert!(waterfall("GET x", &none).contains("total"));
    }
}
