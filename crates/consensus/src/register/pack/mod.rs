//! The register as bytes: fields in order, numbers big-endian, lengths before what they count.
//!
//! Positional, hence the format number in front: a snapshot of a format this version does not know is refused. The rolling
//! hash is taken over the same layout, so that it does not depend on the build. Whoever adds a field puts it into the hash
//! only from the `ClusterVersion` on that brings it: until then builds without it take part and must come to the same hash.
//!
//! Not protobuf, as commands and messages are, because that would cost something and save nothing:
//! - The hash needs one byte string per state on every build. Protobuf promises none (order of map entries and fields, unknown
//!   fields), so this layout of all these types would stay, and the weights of jobs are counted by it too. Messages of the same 30 types
//!   and conversions in both directions would come on top.
//! - Generated messages own their fields: to encode a snapshot, a second copy of the whole register would be built first. Here the
//!   view shares jobs with the register, and every field is written once.
//! - A field that an older build does not know must not be skipped: its replica would go on with another state than the others.
//!   The format number refuses the snapshot instead.

mod primitive;
mod sink;
mod types;

pub(super) use sink::{Pack, Sink, packed, put_known};

use std::collections::BTreeMap;

use bytes::{Buf, Bytes, BytesMut};
use hyperscale_types::{NodeId, Token};

use super::Register;
use super::chunk::Chunk;
use super::claim::{Claim, Claims};
use super::command::{Group, JobId};
use super::datacenter::Datacenter;
use super::ended::Ended;
use super::filling::{Filling, FillingView};
use super::jobs::Jobs;
use super::worker::{FormerGrant, Worker};
use crate::apply::RestoreError;

const FORMAT: u8 = 1;

/// What a snapshot holds, as it was when the view was made. Jobs are shared with the register, the rest is small.
pub(super) struct View {
    group: Group,
    jobs: Jobs,
    workers: BTreeMap<NodeId, Worker>,
    former: BTreeMap<(NodeId, Token), FormerGrant>,
    datacenters: BTreeMap<String, Datacenter>,
    claims: BTreeMap<JobId, Claim>,
    chunks: BTreeMap<u64, Chunk>,
    filling: Option<FillingView>,
    version: u32,
}

impl View {
    pub(super) fn of(register: &Register) -> Self {
        Self {
            group: register.group,
            jobs: register.jobs.clone(),
            workers: register.workers.clone(),
            former: register.former.clone(),
            datacenters: register.datacenters.clone(),
            claims: register.claims.by_job.clone(),
            chunks: register.ended.chunks().clone(),
            filling: register.ended.filling.as_ref().map(Filling::view),
            version: register.version,
        }
    }

    pub(super) fn write(&self) -> Bytes {
        let mut out = BytesMut::new();
        FORMAT.put(&mut out);
        self.group.put(&mut out);
        self.jobs.put(&mut out);
        self.workers.put(&mut out);
        self.former.put(&mut out);
        self.datacenters.put(&mut out);
        self.claims.put(&mut out);
        self.chunks.put(&mut out);
        self.filling.put(&mut out);
        self.version.put(&mut out);
        out.freeze()
    }
}

/// Empty bytes are an empty register.
pub(super) fn read(register: &mut Register, mut bytes: Bytes) -> Result<(), RestoreError> {
    let mut read = Register::new(register.group).with_sizes(register.sizes);
    #[cfg(feature = "bugs")]
    read.bugs.clone_from(&register.bugs);
    if !bytes.is_empty() {
        let format = bytes.get_u8();
        if format != FORMAT {
            return Err(RestoreError(format!("unknown format {format} of the register")));
        }
        read_fields(&mut read, &mut bytes)
            .ok_or_else(|| RestoreError("the register is cut short".to_owned()))?;
        if read.group != register.group {
            return Err(RestoreError("it is the register of another kind of group".to_owned()));
        }
        if bytes.has_remaining() {
            return Err(RestoreError("the register is followed by something".to_owned()));
        }
    }
    *register = read;
    Ok(())
}

fn read_fields(register: &mut Register, bytes: &mut Bytes) -> Option<()> {
    register.group = Pack::take(bytes)?;
    register.jobs = Pack::take(bytes)?;
    register.workers = Pack::take(bytes)?;
    register.former = Pack::take(bytes)?;
    register.datacenters = Pack::take(bytes)?;
    register.claims = Claims::new(Pack::take(bytes)?);
    let (chunks, filling): (_, Option<FillingView>) = (Pack::take(bytes)?, Pack::take(bytes)?);
    register.ended = Ended::new(chunks, filling.map(|filling| filling.read().ok_or(())).transpose().ok()?);
    register.version = Pack::take(bytes)?;
    register.bind_all();
    register.recount();
    Some(())
}
