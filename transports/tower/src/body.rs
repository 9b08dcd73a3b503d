//! Bodies that a layer has read or made, beside those that it passes on.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

/// A body in memory, and its trailers.
///
/// ```
/// use idem_tower::Buffered;
///
/// assert_eq!(Buffered::from("charged").data(), "charged");
/// ```
#[derive(Clone, Default)]
pub struct Buffered {
    data: Bytes,
    trailers: Option<HeaderMap>,
}

impl Buffered {
    /// Returns a body with trailers.
    pub(crate) fn with_trailers(data: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self { data, trailers }
    }

    /// Returns the trailers, for a protocol whose answer ends with them.
    pub fn trailers_mut(&mut self) -> Option<&mut HeaderMap> {
        self.trailers.as_mut()
    }

    /// Returns the bytes that have not been sent yet.
    pub fn data(&self) -> &Bytes {
        &self.data
    }
}

impl<T: Into<Bytes>> From<T> for Buffered {
    fn from(data: T) -> Self {
        Self::with_trailers(data.into(), None)
    }
}

impl fmt::Debug for Buffered {
    /// Prints the length alone: a body may be personal data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffered")
            .field("bytes", &self.data.len())
            .finish_non_exhaustive()
    }
}

impl Body for Buffered {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = std::mem::take(&mut self.data);
        let data = (!data.is_empty()).then(|| Frame::data(data));
        let frame = data.or_else(|| self.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.data.is_empty() && self.trailers.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.trailers {
            None => SizeHint::with_exact(self.data.len() as u64),
            // HTTP/1.1 sends no trailers after a body with a declared length.
            Some(_) => SizeHint::default(),
        }
    }
}

pin_project! {
    /// A body that a layer passes on as it came, or that it has read or made.
    #[project = Projected]
    #[derive(Debug)]
    #[allow(missing_docs, reason = "the macro takes no documentation of a field")]
    pub enum MaybeBuffered<B> {
        /// As it came: the body of the service inside, or of the client.
        Passed {
            #[pin]
            body: B
        },
        /// In memory: what the layer has read or made.
        Buffered {
            #[pin]
            body: Buffered
        },
    }
}

impl<B> MaybeBuffered<B> {
    pub(crate) fn passed(body: B) -> Self {
        Self::Passed { body }
    }
}

impl<B> From<Buffered> for MaybeBuffered<B> {
    fn from(body: Buffered) -> Self {
        Self::Buffered { body }
    }
}

impl<B: Body<Data = Bytes>> Body for MaybeBuffered<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project() {
            Projected::Passed { body } => body.poll_frame(context),
            Projected::Buffered { body } => body
                .poll_frame(context)
                .map(|frame| frame.map(|frame| frame.map_err(|never| match never {}))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Passed { body } => body.is_end_stream(),
            Self::Buffered { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Passed { body } => body.size_hint(),
            Self::Buffered { body } => body.size_hint(),
        }
    }
}
