//! What is known of a registered method.

use std::marker::PhantomData;
use std::time::Duration;

use idem_runtime::handler::DescribeOperation;
use idem_runtime::handler::OperationSpec;

use crate::key::{KeyArgument, Presence};

/// A method, as documents tell of it.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "openrpc"),
    allow(dead_code, reason = "documents alone read it")
)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) summary: Option<String>,
    pub(crate) key_use: Option<KeyUse>,
    #[cfg(feature = "openrpc")]
    pub(crate) schemas: Option<MethodSchemas>,
}

/// The schemas of a method, once they are asked for.
#[cfg(feature = "openrpc")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct MethodSchemas {
    pub(crate) params: fn(&mut schemars::SchemaGenerator) -> serde_json::Value,
    pub(crate) result: fn(&mut schemars::SchemaGenerator) -> serde_json::Value,
}

/// What an idempotent method asks of its callers.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "openrpc"),
    allow(dead_code, reason = "documents alone read it")
)]
pub(crate) struct KeyUse {
    pub(crate) presence: Presence,
    pub(crate) retention: Duration,
}

impl KeyUse {
    pub(crate) fn of<M: DescribeOperation, K: KeyArgument>() -> Self {
        let spec: OperationSpec = M::OPERATION.into();
        let policy = spec.policy();
        // A handler that must have a key has one, whatever the method lets pass.
        let presence = match K::PRESENCE {
            Presence::Optional if policy.key_required => Presence::Required,
            presence => presence,
        };
        Self {
            presence,
            retention: policy.retention,
        }
    }
}

impl Method {
    pub(crate) fn new(name: &'static str, key_use: Option<KeyUse>) -> Self {
        Self {
            name,
            summary: None,
            key_use,
            #[cfg(feature = "openrpc")]
            schemas: None,
        }
    }
}

/// A method that has been registered, to be described further. `P` and `T` are the types of its parameters and its result.
#[derive(Debug)]
pub struct Registered<'m, P, T> {
    pub(crate) method: &'m mut Method,
    pub(crate) types: PhantomData<fn(P) -> T>,
}

impl<P, T> Registered<'_, P, T> {
    /// Sets the sentence that documents say of the method.
    #[allow(
        clippy::return_self_not_must_use,
        reason = "what it changes is in the module"
    )]
    pub fn summary(self, summary: impl Into<String>) -> Self {
        self.method.summary = Some(summary.into());
        self
    }
}
