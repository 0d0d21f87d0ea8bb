//! Proxies: `CONNECT` for https, whole URLs for http (RFC 9110, section 9.3.6; RFC 9112, section 3.2.2).

use hyperscale_types::ErrorKind;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::errors;
use crate::http::auth::basic::basic;
use crate::http::h1::head::{self, Head};
use crate::http::request::url::{Origin, Scheme, Url};
use crate::outcome::CallError;

/// Bytes of a proxy's answer to `CONNECT`.
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// A proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proxy {
    /// Host name or address.
    pub(crate) host: Box<str>,
    /// Port.
    pub(crate) port: u16,
    /// The value of `proxy-authorization`.
    pub(crate) authorization: Option<Box<str>>,
}

impl Proxy {
    /// Reads `http://[user:password@]host:port`; the error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Proxy, String> {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        if url.scheme != Scheme::Http {
            return Err("only http:// proxies are supported".to_owned());
        }
        let authorization = url.credentials().map(|(user, password)| basic(&user, &password).into());
        Ok(Proxy { host: url.host.into(), port: url.port, authorization })
    }
}

/// Asks the proxy for a tunnel to the origin. The connection then belongs to the origin.
pub(crate) async fn tunnel<S>(stream: &mut S, proxy: &Proxy, origin: &Origin) -> Result<(), CallError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    stream.write_all(&request(proxy, origin)).await.map_err(|error| errors::exchange(&error))?;
    let mut answer = Vec::new();
    // Byte by byte would be exact but slow; a proxy sends nothing after its head until we speak, so what is read
    // together with the head must be nothing.
    loop {
        let mut room = head::fields();
        let parsed =
            Head::parse(&answer, &mut room).map_err(|error| CallError::protocol(error.to_string()))?;
        if let Some(head) = parsed {
            return check(&head, answer.len());
        }
        if answer.len() >= ANSWER_BYTES_MAX {
            return Err(CallError::protocol("the proxy's answer to CONNECT is too long"));
        }
        if stream.read_buf(&mut answer).await.map_err(|error| errors::exchange(&error))? == 0 {
            return Err(errors::closed_before_answer());
        }
    }
}

fn request(proxy: &Proxy, origin: &Origin) -> Vec<u8> {
    let Origin { host, port, .. } = origin;
    let host = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let mut request = format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n");
    if let Some(authorization) = &proxy.authorization {
        request.push_str("proxy-authorization: ");
        request.push_str(authorization);
        request.push_str("\r\n");
    }
    request.push_str("\r\n");
    request.into_bytes()
}

fn check(head: &Head<'_, '_>, received: usize) -> Result<(), CallError> {
    match head.status {
        200..=299 if head.length == received => Ok(()),
        200..=299 => Err(CallError::protocol("the proxy sent bytes before the tunnel was used")),
        407 => Err(CallError::new(ErrorKind::ConnectRefused, "the proxy wants other credentials (407)")),
        status => {
            Err(CallError::new(ErrorKind::ConnectRefused, format!("the proxy refused CONNECT with {status}")))
        }
    }
}
