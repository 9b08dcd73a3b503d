//! The body of a response, sent from its worker piece by piece.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use actix_web::body::{BodySize, BoxBody, MessageBody};
use bytes::Bytes;
use futures_util::future::{Either, select};
use http_body::{Body, Frame, SizeHint};
use tokio::sync::mpsc;

use crate::convert::size_hint;

/// A piece, or the end: without it the body broke off.
enum Piece {
    Data(Bytes),
    Failed(String),
    End,
}

/// A body whose pieces come from its worker.
pub(crate) struct SentBody {
    pieces: mpsc::Receiver<Piece>,
    size: BodySize,
    is_ended: bool,
}

/// The body on its worker.
pub(crate) struct Sender {
    body: BoxBody,
    pieces: mpsc::Sender<Piece>,
}

/// Returns a body whose pieces are read from `body` as they are asked for.
pub(crate) fn channel(body: BoxBody) -> (SentBody, Sender) {
    let size = body.size();
    let (sender, pieces) = mpsc::channel(1);
    let sent = SentBody {
        pieces,
        size,
        is_ended: false,
    };
    let pieces = sender;
    (sent, Sender { body, pieces })
}

impl Sender {
    /// Sends the body to its end, or until nobody reads it.
    pub(crate) async fn send(self) {
        let mut body = pin!(self.body);
        loop {
            let next = poll_fn(|context| body.as_mut().poll_next(context));
            let piece = match select(next, pin!(self.pieces.closed())).await {
                Either::Left((Some(Ok(data)), _)) => Piece::Data(data),
                Either::Left((Some(Err(error)), _)) => Piece::Failed(error.to_string()),
                Either::Left((None, _)) => Piece::End,
                Either::Right(_) => return,
            };
            let goes_on = matches!(piece, Piece::Data(_));
            if self.pieces.send(piece).await.is_err() || !goes_on {
                return;
            }
        }
    }
}

impl SentBody {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.is_ended {
            return Poll::Ready(None);
        }
        let piece = ready!(self.pieces.poll_recv(context));
        self.is_ended = !matches!(piece, Some(Piece::Data(_)));
        Poll::Ready(match piece {
            Some(Piece::Data(data)) => Some(Ok(data)),
            Some(Piece::Failed(why)) => Some(Err(io::Error::other(why))),
            Some(Piece::End) => None,
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
        })
    }
}

/// The layer reads it.
impl Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let polled = self.poll_piece(context);
        polled.map(|piece| piece.map(|data| data.map(Frame::data)))
    }

    fn size_hint(&self) -> SizeHint {
        size_hint(self.size)
    }
}

/// Actix sends it, if the response is not recorded.
impl MessageBody for SentBody {
    type Error = io::Error;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        self.poll_piece(context)
    }
}
