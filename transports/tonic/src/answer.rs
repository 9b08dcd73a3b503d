//! Turns errors and results of handlers into tonic's statuses and responses.

use idem_runtime::{Error, Replayable};
use tonic::{Response, Status};

use crate::refusal::{Refusal, set_replayed};

/// Turns an [`Error`] into a [`Status`]. No other crate can implement `From<Error>` for it.
pub trait ErrorExt {
    /// Returns the status of the refusal: that of [`Refusal::of`].
    fn to_status(&self) -> Status;
}

impl ErrorExt for Error {
    fn to_status(&self) -> Status {
        Refusal::of(self).into_status()
    }
}

/// Turns what a handler returned into an answer that says whether it is a replay.
///
/// ```
/// use idem_runtime::Replayable;
/// use idem_tonic::ReplayableExt as _;
/// use tonic::Response;
///
/// # struct Placed { number: i64 }
/// /// The message of the protobuf schema.
/// struct PlacedReply { number: i64 }
///
/// fn answer(placed: Replayable<Placed>) -> Response<PlacedReply> {
///     placed.map(|placed| PlacedReply { number: placed.number }).into_response()
/// }
/// ```
pub trait ReplayableExt<T> {
    /// Returns the response with the message; a replay has the metadata `idempotent-replayed: true`.
    fn into_response(self) -> Response<T>;

    /// Returns the status of a failure that a call with [`replayable`](idem_runtime::ReplayExt::replayable) returned; that of
    /// a replayed one has the metadata `idempotent-replayed: true`.
    fn into_status(self) -> Status
    where
        T: Into<Status>;
}

impl<T> ReplayableExt<T> for Replayable<T> {
    fn into_response(self) -> Response<T> {
        let replayed = self.replayed();
        let mut response = Response::new(self.into_inner());
        if replayed {
            set_replayed(response.metadata_mut());
        }
        response
    }

    fn into_status(self) -> Status
    where
        T: Into<Status>,
    {
        let replayed = self.replayed();
        let mut status = self.into_inner().into();
        if replayed {
            set_replayed(status.metadata_mut());
        }
        status
    }
}
