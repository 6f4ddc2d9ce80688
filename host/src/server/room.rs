//! Memory for bodies on their way in and out, shared by all connections.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http_body_util::{BodyExt, Full};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;
use crate::limits::{ANSWER_BODY_BYTES_MAX, BODY_ROOM_KIB, BODY_SMALL_BYTES};
use crate::output;
use crate::runtime::Body;

/// Room for larger bodies; given back share by share.
pub struct BodyRoom(Arc<Semaphore>);

/// What a body takes of the room; small ones take nothing.
pub type Share = Option<OwnedSemaphorePermit>;

/// Why a body was not read to its end.
#[derive(Debug)]
pub enum ReadError<E> {
    TooLarge,
    /// The room is full.
    NoRoom,
    Broken(E),
}

impl BodyRoom {
    pub fn new() -> Self {
        Self(Arc::new(Semaphore::new(BODY_ROOM_KIB)))
    }

    /// Reads a body whole. Small ones are bounded by the number of connections; larger ones take of
    /// the room what has come of them, whatever length they announced.
    pub async fn read<B>(&self, mut body: B, bytes_max: u64) -> Result<(Bytes, Share), ReadError<B::Error>>
    where
        B: http_body::Body<Data = Bytes> + Unpin,
    {
        let mut chunks: Vec<Bytes> = Vec::new();
        let mut length = 0;
        let mut share: Share = None;
        while let Some(frame) = body.frame().await {
            let Ok(chunk) = frame.map_err(ReadError::Broken)?.into_data() else { continue };
            length += chunk.len() as u64;
            if length > bytes_max {
                return Err(ReadError::TooLarge);
            }
            if length > BODY_SMALL_BYTES {
                let more = self.take(chunk.len()).ok_or(ReadError::NoRoom)?;
                match &mut share {
                    Some(share) => share.merge(more),
                    None => share = Some(more),
                }
            }
            chunks.push(chunk);
        }
        Ok((joined(chunks), share))
    }

    fn take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kib = u32::try_from(bytes.div_ceil(1024)).ok()?;
        Arc::clone(&self.0).try_acquire_many_owned(kib).ok()
    }

    /// Takes an answer from its instance, so that the instance is free.
    pub async fn collect(&self, answer: Response<Body>) -> (Response<Body>, Share) {
        let (parts, body) = answer.into_parts();
        match self.read(body, ANSWER_BODY_BYTES_MAX).await {
            Ok((bytes, share)) => (Response::from_parts(parts, whole(bytes)), share),
            Err(ReadError::NoRoom) => (Problem::Overloaded.response(), None),
            Err(error) => {
                output::error_line(&format!("an answer was not whole: {error:?}"));
                (Problem::Internal.response(), None)
            }
        }
    }
}

/// A body that is all there.
pub fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn joined(mut chunks: Vec<Bytes>) -> Bytes {
    match chunks.len() {
        0 | 1 => chunks.pop().unwrap_or_default(),
        _ => Bytes::from(chunks.concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_bodies_take_room_and_give_it_back() {
        let room = BodyRoom::new();
        let body = |kib: usize| Full::new(Bytes::from(vec![0; kib * 1024]));
        let (small, share) = room.read(body(64), u64::MAX).await.unwrap();
        assert!(small.len() == 64 * 1024 && share.is_none());
        let (_, whole_room) = room.read(body(BODY_ROOM_KIB), u64::MAX).await.unwrap();
        assert!(matches!(room.read(body(65), u64::MAX).await, Err(ReadError::NoRoom)));
        drop(whole_room);
        assert!(room.read(body(65), u64::MAX).await.is_ok());
        assert!(matches!(room.read(body(65), 1_000).await, Err(ReadError::TooLarge)));
    }
}
