//! The stream of frames: who listens to what, and what each is sent.
//!
//! In: clients that subscribe to a [`Topic`], and once a second a frame for each topic somebody listens to. Out: the body of
//! an answer that does not end (server-sent events). A frame is made once for all who want it. Nobody is waited for: who has
//! not taken the last few frames is cut off, and comes back with the number of the last one it saw.

use axum::body::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc;

/// Frames that may wait for a client: it is four seconds behind then.
const BEHIND: usize = 4;

/// What a tab shows, and so what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    Overview,
    Pool(u64),
    Schedules,
    Audit,
}

#[derive(Debug)]
struct Client {
    topic: Topic,
    frames: mpsc::Sender<Bytes>,
}

/// Everybody who listens.
#[derive(Debug)]
pub(crate) struct Hub {
    clients: Mutex<Vec<Client>>,
    most: usize,
}

impl Hub {
    pub(crate) fn new(most: usize) -> Hub {
        Hub {
            clients: Mutex::default(),
            most,
        }
    }

    fn clients(&self) -> MutexGuard<'_, Vec<Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new client, which gets `first` at once. `None`: there are as many as may be.
    pub(crate) fn subscribe(&self, topic: Topic, first: Bytes) -> Option<Feed> {
        let (frames, feed) = mpsc::channel(BEHIND);
        let mut clients = self.clients();
        clients.retain(|client| !client.frames.is_closed());
        if clients.len() >= self.most || frames.try_send(first).is_err() {
            return None;
        }
        clients.push(Client { topic, frames });
        Some(Feed { frames: feed })
    }

    /// The topics somebody listens to.
    pub(crate) fn topics(&self) -> BTreeSet<Topic> {
        let mut clients = self.clients();
        clients.retain(|client| !client.frames.is_closed());
        clients.iter().map(|client| client.topic).collect()
    }

    /// How many listen.
    pub(crate) fn count(&self) -> usize {
        self.clients().len()
    }

    /// Sends a frame to all who listen to its topic. Who is too far behind is cut off.
    pub(crate) fn send(&self, topic: Topic, frame: &Bytes) {
        self.clients()
            .retain(|client| client.topic != topic || client.frames.try_send(frame.clone()).is_ok());
    }

    /// Ends all streams.
    pub(crate) fn close(&self) {
        self.clients().clear();
    }
}

/// One event of the stream. JSON has no line ends of its own.
pub(crate) fn event(number: u64, json: &str) -> Bytes {
    format!("id: {number}\ndata: {json}\n\n").into()
}

/// The body of a client's answer.
#[derive(Debug)]
pub(crate) struct Feed {
    frames: mpsc::Receiver<Bytes>,
}

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = ready!(self.frames.poll_recv(context));
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_listen_is_cut_off_and_the_others_are_not() {
        let hub = Hub::new(2);
        let mut awake = hub.subscribe(Topic::Overview, event(1, "{}")).unwrap();
        let _asleep = hub.subscribe(Topic::Overview, event(1, "{}")).unwrap();
        assert!(
            hub.subscribe(Topic::Audit, event(1, "{}")).is_none(),
            "two are the most"
        );
        for number in 2..10 {
            assert!(awake.frames.try_recv().is_ok());
            hub.send(Topic::Overview, &event(number, "{}"));
        }
        assert_eq!(hub.count(), 1);
        assert!(awake.frames.try_recv().is_ok());
        drop(awake);
        assert!(hub.topics().is_empty());
    }

    #[test]
    fn frames_go_to_their_topic_only() {
        let hub = Hub::new(9);
        let mut feeds =
            [Topic::Overview, Topic::Pool(1)].map(|topic| hub.subscribe(topic, event(1, "{}")).unwrap());
        hub.send(Topic::Pool(1), &event(2, "{}"));
        let lengths = feeds
            .each_mut()
            .map(|feed| std::iter::from_fn(|| feed.frames.try_recv().ok()).count());
        assert_eq!(lengths, [1, 2]);
        assert_eq!(&*event(7, "{\"a\":1}"), b"id: 7\ndata: {\"a\":1}\n\n");
    }
}
