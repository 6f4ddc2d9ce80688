//! Bounds of time: a server that has stopped answering is as good as away.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// What `work` gives, unless it takes longer than `limit`; it is given up then.
pub async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut alarm = pin!(spin_sdk::time::sleep(limit));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => alarm.as_mut().poll(context).map(|()| None),
    })
    .await
}
