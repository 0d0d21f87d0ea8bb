//! Files of plans that were uploaded and wait for their submission.

use bytes::Bytes;
use hyperscale_api::method::BlobHash;
use hyperscale_api::response::StoredBlob;
use hyperscale_consensus::BlobId;

/// Bytes of all of them; the oldest make room.
const BYTES_MAX: usize = 256 << 20;

/// Uploaded files, oldest first.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    blobs: Vec<(BlobHash, Bytes)>,
    bytes: usize,
}

impl Uploads {
    /// Keeps a file until it is submitted, or others need its room.
    pub(super) fn keep(&mut self, bytes: Bytes) -> StoredBlob {
        let blob = BlobHash(BlobId::of(&bytes).hash);
        let stored = StoredBlob { blob, bytes: bytes.len() as u64 };
        if self.find(&blob).is_none() {
            self.bytes += bytes.len();
            self.blobs.push((blob, bytes));
        }
        while self.bytes > BYTES_MAX && self.blobs.len() > 1 {
            let (_, oldest) = self.blobs.remove(0);
            self.bytes -= oldest.len();
        }
        stored
    }

    /// The content of a file.
    pub(super) fn find(&self, blob: &BlobHash) -> Option<Bytes> {
        self.blobs.iter().find(|(known, _)| known == blob).map(|(_, bytes)| bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_kept_once_and_the_oldest_makes_room() {
        let mut uploads = Uploads::default();
        let first = uploads.keep(Bytes::from_static(b"first"));
        assert_eq!(uploads.keep(Bytes::from_static(b"first")), first);
        assert_eq!(uploads.blobs.len(), 1);
        uploads.keep(vec![0; BYTES_MAX].into());
        assert_eq!(uploads.find(&first.blob), None);
        assert_eq!(uploads.bytes, BYTES_MAX);
    }
}
