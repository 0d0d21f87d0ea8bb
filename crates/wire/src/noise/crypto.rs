//! The primitives of Noise on `aws-lc-rs`, and randomness that was handed in.

use aws_lc_rs::{aead, agreement, digest};
use snow::Error;
use snow::params::{CipherChoice, DHChoice, HashChoice};
use snow::resolvers::CryptoResolver;
use snow::types::{Cipher, Dh, Hash, Random};
use zeroize::Zeroizing;

const KEY: usize = 32;
const TAG: usize = 16;

/// Resolves the primitives of our one pattern. `ephemeral` is the only randomness a handshake uses.
pub(super) struct Resolver {
    ephemeral: Zeroizing<[u8; KEY]>,
}

impl Resolver {
    pub(super) const fn new(ephemeral: Zeroizing<[u8; KEY]>) -> Self {
        Self { ephemeral }
    }
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Once(Some(self.ephemeral.clone()))))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        matches!(choice, DHChoice::Curve25519).then(|| Box::<X25519>::default() as Box<dyn Dh>)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        matches!(choice, HashChoice::SHA256).then(|| Box::<Sha256>::default() as Box<dyn Hash>)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        matches!(choice, CipherChoice::AESGCM).then(|| Box::<Aes256Gcm>::default() as Box<dyn Cipher>)
    }
}

/// Gives its 32 bytes once; asking again is an error and not a repetition.
struct Once(Option<Zeroizing<[u8; KEY]>>);

impl Random for Once {
    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Error> {
        let bytes = self.0.take().ok_or(Error::Rng)?;
        if out.len() != bytes.len() {
            return Err(Error::Rng);
        }
        out.copy_from_slice(&*bytes);
        Ok(())
    }
}

#[derive(Default)]
struct X25519 {
    private: Zeroizing<[u8; KEY]>,
    public: [u8; KEY],
}

impl X25519 {
    fn key(&self) -> Result<agreement::PrivateKey, Error> {
        agreement::PrivateKey::from_private_key(&agreement::X25519, &*self.private).map_err(|_| Error::Dh)
    }

    fn try_set(&mut self, private: &[u8]) -> Result<(), Error> {
        self.private.copy_from_slice(private);
        let public = self.key()?.compute_public_key().map_err(|_| Error::Dh)?;
        self.public.copy_from_slice(public.as_ref());
        Ok(())
    }
}

impl Dh for X25519 {
    fn name(&self) -> &'static str {
        "25519"
    }

    fn pub_len(&self) -> usize {
        KEY
    }

    fn priv_len(&self) -> usize {
        KEY
    }

    fn set(&mut self, private: &[u8]) {
        self.try_set(private).expect("every 32 bytes are a private key of X25519");
    }

    fn generate(&mut self, rng: &mut dyn Random) -> Result<(), Error> {
        let mut private = Zeroizing::new([0; KEY]);
        rng.try_fill_bytes(&mut *private)?;
        self.try_set(&*private)
    }

    fn pubkey(&self) -> &[u8] {
        &self.public
    }

    fn privkey(&self) -> &[u8] {
        &*self.private
    }

    fn dh(&self, public: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let public = public.get(..KEY).ok_or(Error::Dh)?;
        let peer = agreement::UnparsedPublicKey::new(&agreement::X25519, public);
        agreement::agree(&self.key()?, peer, Error::Dh, |shared| {
            out.get_mut(..KEY).ok_or(Error::Dh)?.copy_from_slice(shared);
            Ok(())
        })
    }
}

struct Sha256(digest::Context);

impl Default for Sha256 {
    fn default() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }
}

impl Hash for Sha256 {
    fn name(&self) -> &'static str {
        "SHA256"
    }

    fn block_len(&self) -> usize {
        64
    }

    fn hash_len(&self) -> usize {
        digest::SHA256_OUTPUT_LEN
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    fn input(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn result(&mut self, out: &mut [u8]) {
        let digest = std::mem::take(self).0.finish();
        out[..digest.as_ref().len()].copy_from_slice(digest.as_ref());
    }
}

#[derive(Default)]
struct Aes256Gcm(Option<aead::LessSafeKey>);

impl Aes256Gcm {
    fn key(&self) -> &aead::LessSafeKey {
        self.0.as_ref().expect("snow sets the key before it uses the cipher")
    }
}

impl Cipher for Aes256Gcm {
    fn name(&self) -> &'static str {
        "AESGCM"
    }

    fn set(&mut self, key: &[u8; KEY]) {
        self.0 = Some(aes_key(key));
    }

    fn encrypt(&self, counter: u64, aad: &[u8], plain: &[u8], out: &mut [u8]) -> usize {
        let (body, rest) = out.split_at_mut(plain.len());
        body.copy_from_slice(plain);
        let tag = self
            .key()
            .seal_in_place_separate_tag(nonce(counter), aead::Aad::from(aad), body)
            .expect("a frame is far below the limit of AES-GCM");
        rest[..TAG].copy_from_slice(tag.as_ref());
        plain.len() + TAG
    }

    fn decrypt(&self, counter: u64, aad: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let length = sealed.len().checked_sub(TAG).ok_or(Error::Decrypt)?;
        let (body, tag) = sealed.split_at(length);
        let out = out.get_mut(..length).ok_or(Error::Input)?;
        self.key()
            .open_separate_gather(nonce(counter), aead::Aad::from(aad), body, tag, out)
            .map_err(|_| Error::Decrypt)?;
        Ok(length)
    }
}

/// A key of AES-256-GCM.
pub(crate) fn aes_key(key: &[u8; KEY]) -> aead::LessSafeKey {
    let key = aead::UnboundKey::new(&aead::AES_256_GCM, key).expect("32 bytes are a key of AES-256");
    aead::LessSafeKey::new(key)
}

/// Noise, section 12.3: 32 zero bits, then the counter, big-endian.
pub(crate) fn nonce(counter: u64) -> aead::Nonce {
    let mut bytes = [0; aead::NONCE_LEN];
    bytes[4..].copy_from_slice(&counter.to_be_bytes());
    aead::Nonce::assume_unique_for_key(bytes)
}
