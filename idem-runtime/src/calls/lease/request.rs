//! The inputs of one leased call.

use std::ops::{Deref, DerefMut};

use crate::calls::kit::request::Request;
use crate::values::operation::LeasedOperation;
use crate::values::policy::Lease;

/// One call of an operation in lease mode, with its lease.
pub struct LeasedRequest {
    pub(super) request: Request,
    pub(super) lease: Lease,
}

impl LeasedRequest {
    /// Creates a call of this operation.
    pub fn new<F>(operation: LeasedOperation<F>) -> Self {
        let mut request = Request::of(operation.into());
        request.needs_a_claim();
        Self {
            request,
            lease: operation.lease_policy(),
        }
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
