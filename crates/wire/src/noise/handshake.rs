//! The handshake: one frame there, one frame back.
//!
//! ```text
//! first  = preamble(21) noise(48)     -> psk, e
//! second = noise(48)                  <- e, ee
//! preamble = "HSW" 0x01 lane(1) cluster tag(8) environment tag(8)
//! ```
//! The preamble lets the answering side name the reason when cluster or environment differ; preamble and full names are
//! the prologue, so that it cannot be changed under way.
//!
//! | side | state | event | next |
//! | --- | --- | --- | --- |
//! | initiator | – | [`Initiator::start`] | sent the first frame |
//! | initiator | sent | second frame opens | [`Session`], confirmed |
//! | initiator | sent | it does not | refused; may try again with the previous secret |
//! | responder | – | first frame opens with either secret | [`Session`], **not** confirmed |
//! | responder | – | it does not | refused |
//! | responder | not confirmed | first sealed frame opens | confirmed |
//!
//! A first frame can be replayed; whoever does so cannot seal the next one. That is why the responder's session counts as
//! a handshake in progress until it is confirmed.

use hyperscale_types::Now;
use snow::{Builder, HandshakeState};
use zeroize::Zeroizing;

use super::crypto::Resolver;
use super::session::{Confirmation, Session};
use crate::class::Lane;
use crate::counters::Refusal;
use crate::domain::Domain;
use crate::entropy::Entropy;
use crate::frame::put_frame;
use crate::secret::{Secret, SecretChoice, Secrets};

const PATTERN: &str = "Noise_NNpsk0_25519_AESGCM_SHA256";
const MAGIC: [u8; 4] = *b"HSW\x01";
const PREAMBLE: usize = MAGIC.len() + 1 + 8 + 8;
/// Ephemeral key and tag of an empty payload.
const NOISE_MESSAGE: usize = 32 + 16;

/// Why there is no session. The connection must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// Not our protocol, or one so new that even the handshake differs.
    #[error("the peer does not speak this protocol")]
    NotOurProtocol,
    /// A node of another cluster.
    #[error("the peer belongs to another cluster")]
    ForeignCluster,
    /// A node of another environment.
    #[error("the peer belongs to another environment")]
    ForeignEnvironment,
    /// The secrets differ, or somebody changed something. The initiator may try again with its previous secret.
    #[error("the peer does not have the same secret")]
    Forged,
    /// There is no such secret to begin with.
    #[error("there is no previous secret")]
    NoSecret,
}

impl HandshakeError {
    /// The counter it belongs to.
    pub const fn refusal(self) -> Refusal {
        match self {
            HandshakeError::NotOurProtocol => Refusal::NotOurProtocol,
            HandshakeError::ForeignCluster => Refusal::ForeignCluster,
            HandshakeError::ForeignEnvironment => Refusal::ForeignEnvironment,
            HandshakeError::Forged | HandshakeError::NoSecret => Refusal::HandshakeForged,
        }
    }
}

/// The side that connected, waiting for the answer.
#[derive(Debug)]
pub struct Initiator {
    state: Box<HandshakeState>,
}

impl Initiator {
    /// Begins a handshake and appends its first frame.
    pub fn start(
        domain: &Domain,
        lane: Lane,
        secrets: &Secrets,
        choice: SecretChoice,
        entropy: &mut dyn Entropy,
        out: &mut Vec<u8>,
    ) -> Result<Self, HandshakeError> {
        let secret = secrets.get(choice).ok_or(HandshakeError::NoSecret)?;
        let preamble = preamble(domain, lane);
        let mut ephemeral = Zeroizing::new([0; 32]);
        entropy.fill(&mut *ephemeral);
        let mut state = build(domain, &preamble, secret, &ephemeral, Side::Initiator);
        let mut content = preamble.to_vec();
        content.resize(PREAMBLE + NOISE_MESSAGE, 0);
        let written =
            state.write_message(&[], &mut content[PREAMBLE..]).map_err(|_| HandshakeError::Forged)?;
        put_frame(&content[..PREAMBLE + written], out);
        Ok(Self { state: Box::new(state) })
    }

    /// Takes the answer.
    pub fn finish(mut self, now: Now, frame: &[u8]) -> Result<Session, HandshakeError> {
        if frame.len() != NOISE_MESSAGE {
            return Err(HandshakeError::Forged);
        }
        self.state.read_message(frame, &mut []).map_err(|_| HandshakeError::Forged)?;
        session(*self.state, Confirmation::Confirmed, now)
    }
}

/// What the answering side got.
#[derive(Debug)]
pub struct Answer {
    /// Not confirmed until the first sealed frame opened.
    pub session: Session,
    /// What the connection is for.
    pub lane: Lane,
    /// With which secret; use of the previous one is counted.
    pub choice: SecretChoice,
}

/// Answers the first frame and appends the second one.
pub fn answer(
    domain: &Domain,
    secrets: &Secrets,
    now: Now,
    frame: &[u8],
    entropy: &mut dyn Entropy,
    out: &mut Vec<u8>,
) -> Result<Answer, HandshakeError> {
    let (theirs, message) = frame.split_first_chunk::<PREAMBLE>().ok_or(HandshakeError::NotOurProtocol)?;
    let lane = check_preamble(domain, theirs)?;
    if message.len() != NOISE_MESSAGE {
        return Err(HandshakeError::NotOurProtocol);
    }
    let mut ephemeral = Zeroizing::new([0; 32]);
    entropy.fill(&mut *ephemeral);
    for (choice, secret) in secrets.iter() {
        let mut state = build(domain, theirs, secret, &ephemeral, Side::Responder);
        if state.read_message(message, &mut []).is_err() {
            continue;
        }
        let mut reply = [0; NOISE_MESSAGE];
        let written = state.write_message(&[], &mut reply).map_err(|_| HandshakeError::Forged)?;
        put_frame(&reply[..written], out);
        return Ok(Answer { session: session(state, Confirmation::Awaited, now)?, lane, choice });
    }
    Err(HandshakeError::Forged)
}

#[derive(Clone, Copy)]
enum Side {
    Initiator,
    Responder,
}

fn build(
    domain: &Domain,
    preamble: &[u8; PREAMBLE],
    secret: &Secret,
    ephemeral: &Zeroizing<[u8; 32]>,
    side: Side,
) -> HandshakeState {
    let psk = secret.derive("noise psk", &[domain.cluster().as_bytes(), domain.environment().as_bytes()]);
    let prologue = prologue(domain, preamble);
    let params = PATTERN.parse().expect("the pattern is a valid one");
    let builder = Builder::with_resolver(params, Box::new(Resolver::new(ephemeral.clone())))
        .psk(0, &psk)
        .and_then(|builder| builder.prologue(&prologue))
        .expect("each is given once");
    match side {
        Side::Initiator => builder.build_initiator(),
        Side::Responder => builder.build_responder(),
    }
    .expect("the resolver has every primitive of the pattern")
}

fn session(state: HandshakeState, confirmation: Confirmation, now: Now) -> Result<Session, HandshakeError> {
    let transport = state.into_transport_mode().map_err(|_| HandshakeError::Forged)?;
    Ok(Session::new(transport, confirmation, now))
}

fn preamble(domain: &Domain, lane: Lane) -> [u8; PREAMBLE] {
    let mut bytes = [0; PREAMBLE];
    bytes[..4].copy_from_slice(&MAGIC);
    bytes[4] = lane.byte();
    bytes[5..13].copy_from_slice(&domain.cluster_tag());
    bytes[13..].copy_from_slice(&domain.environment_tag());
    bytes
}

fn check_preamble(domain: &Domain, theirs: &[u8; PREAMBLE]) -> Result<Lane, HandshakeError> {
    if theirs[..4] != MAGIC {
        return Err(HandshakeError::NotOurProtocol);
    }
    let lane = Lane::from_byte(theirs[4]).ok_or(HandshakeError::NotOurProtocol)?;
    if theirs[5..13] != domain.cluster_tag() {
        return Err(HandshakeError::ForeignCluster);
    }
    if theirs[13..] != domain.environment_tag() {
        return Err(HandshakeError::ForeignEnvironment);
    }
    Ok(lane)
}

fn prologue(domain: &Domain, preamble: &[u8; PREAMBLE]) -> Vec<u8> {
    let mut bytes = preamble.to_vec();
    for name in [domain.cluster(), domain.environment()] {
        bytes.extend_from_slice(&(name.len() as u32).to_be_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes
}
