//! The body of an answer on its way out: it is counted, and holds its share of the room to its end.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::access_log::Record;
use super::room::Share;
use crate::runtime::Body;

/// An answer's body with what ends when it ends.
pub struct Outgoing {
    inner: Body,
    record: Record,
    /// Given back when the answer is out.
    _share: Share,
}

impl Outgoing {
    pub fn new(inner: Body, record: Record, share: Share) -> Self {
        Self { inner, record, _share: share }
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = wasmtime_wasi_http::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                this.record.add_bytes(frame.data_ref().map_or(0, Bytes::len));
            }
            Poll::Ready(Some(Err(_))) => this.record.set_broken_off(),
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
