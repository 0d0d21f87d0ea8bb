//! Reading bodies within limits of size and time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use crate::error::{ErrorCode, RpcError};

/// Memory that a body gets before it has come.
const CAPACITY_MAX: usize = 64 << 10;

/// The whole body, if it is not too large and comes in time.
pub(super) async fn read(body: Incoming, bytes_max: usize, time_max: Duration) -> Result<Bytes, RpcError> {
    let announced = body.size_hint().lower();
    // One that says so itself need not be read to know it.
    if announced > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let capacity = usize::try_from(announced).unwrap_or(CAPACITY_MAX).min(CAPACITY_MAX);
    let late = |_| {
        let message = format!("the body did not arrive within {} s", time_max.as_secs_f64());
        RpcError::new(ErrorCode::RequestTimeout, message).fix("send it faster, or less of it")
    };
    timeout(time_max, collect(body, BytesMut::with_capacity(capacity), bytes_max)).await.map_err(late)?
}

async fn collect(mut body: Incoming, mut bytes: BytesMut, bytes_max: usize) -> Result<Bytes, RpcError> {
    while let Some(frame) = body.frame().await {
        let broken =
            |error| RpcError::new(ErrorCode::InvalidRequest, format!("the body ended early: {error}"));
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if bytes.len() + data.len() > bytes_max {
            return Err(too_large(bytes_max));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

fn too_large(bytes_max: usize) -> RpcError {
    RpcError::new(ErrorCode::TooLarge, format!("the body has more than {bytes_max} bytes"))
        .fix("upload files of a plan in parts with `PUT /blobs`")
}
