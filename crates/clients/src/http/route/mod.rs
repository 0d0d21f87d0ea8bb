//! Where requests go: an origin and the way to it. Connections are shared along equal routes.

pub(crate) mod connection;
pub(crate) mod proxy;

use std::cell::{Cell, OnceCell, RefCell};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use hyperscale_plan::model::http::{HttpVersion, Transport};
use rustls::ClientConfig;

use crate::http::h2::H2Pool;
use crate::http::request::url::{Origin, Scheme, Url};
use crate::http::route::proxy::Proxy;
use crate::tls::{self, TlsError};

/// Routes remembered per core; a plan that makes up more origins forgets the oldest.
const ROUTES_MAX: usize = 1024;

/// The routes of a core.
#[derive(Default)]
pub(crate) struct Routes {
    links: RefCell<Vec<Rc<Link>>>,
    known: RefCell<Vec<Rc<Route>>>,
    next_id: Cell<u32>,
}

/// How peers are reached: what all requests with equal transports share.
pub(crate) struct Link {
    /// The plan's settings.
    pub(crate) settings: Transport,
    /// The proxy, if any.
    pub(crate) proxy: Option<Proxy>,
    tls: OnceCell<Arc<ClientConfig>>,
    next_source: Cell<usize>,
}

/// An origin and how it is reached.
pub(crate) struct Route {
    /// Unique in the core.
    pub(crate) id: u32,
    /// Where it leads.
    pub(crate) origin: Origin,
    /// The same as text.
    pub(crate) text: Box<str>,
    /// How.
    pub(crate) link: Rc<Link>,
    /// Whom connections are opened to: the proxy, or the origin itself.
    pub(crate) peer: Peer,
    /// A connection is ready for HTTP/1.1 once the peer has accepted it.
    is_bare: bool,
    /// HTTP/2 connections shared by the virtual users of the core, if the plan wants that.
    pub(crate) shared: Option<H2Pool>,
    next_address: Cell<usize>,
    speaks_h2: Cell<bool>,
}

/// A host to connect to. What is an address already is read once and not for every connection.
pub(crate) enum Peer {
    /// The host is an address.
    Address(SocketAddr),
    /// The host is a name, which has to be resolved.
    Name { host: Box<str>, port: u16 },
}

impl Peer {
    fn new(host: &str, port: u16) -> Self {
        match host.parse() {
            Ok(address) => Peer::Address(SocketAddr::new(address, port)),
            Err(_) => Peer::Name { host: host.into(), port },
        }
    }
}

impl Routes {
    /// The link with these settings. `proxy` is what the settings say, already read.
    pub(crate) fn link(&self, settings: &Transport, proxy: Option<Proxy>) -> Rc<Link> {
        let mut links = self.links.borrow_mut();
        if let Some(link) = links.iter().find(|link| link.settings == *settings) {
            return Rc::clone(link);
        }
        let link = Rc::new(Link {
            settings: settings.clone(),
            proxy,
            tls: OnceCell::new(),
            next_source: Cell::new(0),
        });
        links.push(Rc::clone(&link));
        link
    }

    /// How many origins are known.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.known.borrow().len()
    }

    /// The route to a URL's origin over a link. Allocates only for an origin that is new; `begin` then says with
    /// which of its addresses connections begin, so that cores do not all begin with the same.
    pub(crate) fn route(&self, link: &Rc<Link>, url: &Url<'_>, begin: impl FnOnce() -> u64) -> Rc<Route> {
        let mut routes = self.known.borrow_mut();
        let known =
            routes.iter().find(|route| Rc::ptr_eq(&route.link, link) && url.has_origin(&route.origin));
        if let Some(route) = known {
            return Rc::clone(route);
        }
        if routes.len() == ROUTES_MAX {
            routes.remove(0);
        }
        let id = self.next_id.get();
        self.next_id.set(id + 1);
        let next_address = Cell::new(begin() as usize);
        let origin = url.origin();
        let may_speak_h2 = match link.settings.version {
            HttpVersion::Auto => origin.scheme.is_tls(),
            HttpVersion::Http1 => false,
            HttpVersion::Http2 => true,
        };
        let peer = match &link.proxy {
            Some(proxy) => Peer::new(&proxy.host, proxy.port),
            None => Peer::new(&origin.host, origin.port),
        };
        let is_plain = !origin.scheme.is_tls() && link.settings.version != HttpVersion::Http2;
        let route = Rc::new(Route {
            id,
            peer,
            is_bare: is_plain && link.settings.unix.is_none(),
            text: origin.to_string().into(),
            origin,
            link: Rc::clone(link),
            shared: link.pool(),
            next_address,
            speaks_h2: Cell::new(may_speak_h2),
        });
        routes.push(Rc::clone(&route));
        route
    }
}

impl Link {
    /// The TLS configuration, made when first needed.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, TlsError> {
        if let Some(config) = self.tls.get() {
            return Ok(Arc::clone(config));
        }
        let config = Arc::new(tls::config(&self.settings.tls, self.settings.version)?);
        Ok(Arc::clone(self.tls.get_or_init(|| config)))
    }

    /// Connections that virtual users share: only where it is certain that they speak HTTP/2.
    fn pool(&self) -> Option<H2Pool> {
        let certain = self.settings.version == HttpVersion::Http2;
        let size = NonZeroUsize::new(self.settings.connections.filter(|_| certain)? as usize)?;
        Some(H2Pool::new(size))
    }

    /// The local address of the next connection: those of the peer's family in turn.
    pub(crate) fn source(&self, peer: IpAddr) -> Option<IpAddr> {
        let fitting = || self.settings.source.iter().filter(|source| source.is_ipv4() == peer.is_ipv4());
        let count = fitting().count();
        let at = self.next_source.get();
        self.next_source.set(at.wrapping_add(1));
        fitting().nth(at.checked_rem(count)?).copied()
    }
}

impl Route {
    /// Whether requests name the whole URL, because a proxy forwards them.
    pub(crate) fn is_forwarded(&self) -> bool {
        self.link.proxy.is_some() && self.origin.scheme == Scheme::Http
    }

    /// What a proxy that forwards requests wants to see with each of them.
    pub(crate) fn forwarding_credentials(&self) -> Option<&str> {
        self.link.proxy.as_ref().filter(|_| self.is_forwarded())?.authorization.as_deref()
    }

    /// The address that a connection leads to, if it needs nothing but being accepted.
    pub(crate) fn bare_peer(&self) -> Option<SocketAddr> {
        match self.peer {
            Peer::Address(peer) if self.is_bare => Some(peer),
            Peer::Address(_) | Peer::Name { .. } => None,
        }
    }

    /// Whether the last connection spoke HTTP/2, or the first one may.
    #[inline]
    pub(crate) fn speaks_h2(&self) -> bool {
        self.speaks_h2.get()
    }

    /// A connection was opened.
    pub(crate) fn opened(&self, speaks_h2: bool) {
        self.speaks_h2.set(speaks_h2);
    }

    /// Whether the connection is encrypted.
    pub(crate) fn is_tls(&self) -> bool {
        self.origin.scheme.is_tls()
    }

    /// Where the next connection begins among `count` addresses.
    pub(crate) fn next_address(&self, count: usize) -> usize {
        let at = self.next_address.get();
        self.next_address.set(at.wrapping_add(1));
        at % count.max(1)
    }
}
