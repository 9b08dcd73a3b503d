//! The inputs of one leased call.

use std::ops::{Deref, DerefMut};

use crate::calls::kit::request::Request;
use crate::values::error::Error;
use crate::values::identity::Identity;
use crate::values::operation::LeasedOperation;
use crate::values::policy::Lease;
use crate::values::record::AttemptId;
use crate::values::spec::OperationSpec;

/// One call of an operation in lease mode, with its lease.
pub struct LeasedRequest {
    pub(super) request: Request,
    pub(super) lease: Lease,
    pub(super) takes_over: Option<TakesOver>,
}

/// What a call without a caller may do: continue an attempt whose lease lapsed, and nothing else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakesOver {
    /// The attempt whose lease lapsed.
    pub(crate) lapsed: AttemptId,
    /// The number of the last attempt after whose failure there is another one.
    pub(crate) attempts: i32,
}

impl TakesOver {
    /// Returns whether no attempt follows this one by itself.
    pub(crate) fn is_last(self, attempt: i32) -> bool {
        attempt >= self.attempts
    }
}

impl LeasedRequest {
    /// Creates a call of this operation.
    pub fn new<F>(operation: LeasedOperation<F>) -> Self {
        let mut request = Request::of(operation.into());
        request.needs_a_claim();
        Self {
            request,
            lease: operation.lease_policy(),
            takes_over: None,
        }
    }

    /// Creates a call that takes a lapsed lease over: of an identity as it is stored, with its recorded request.
    pub(crate) fn resumed<F>(
        operation: LeasedOperation<F>,
        identity: Identity,
        canonical: Vec<u8>,
        takes_over: TakesOver,
    ) -> Result<Self, Error> {
        let mut request = Request::of(OperationSpec::from(operation).without_wait());
        request.resume(identity, canonical)?;
        Ok(Self {
            request,
            lease: operation.lease_policy(),
            takes_over: Some(takes_over),
        })
    }
}

impl Deref for LeasedRequest {
    type Target = Request;

    fn deref(&self) -> &Request {
        &self.request
    }
}

impl DerefMut for LeasedRequest {
    fn deref_mut(&mut self) -> &mut Request {
        &mut self.request
    }
}
