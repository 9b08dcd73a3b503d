//! Where an event comes from, and the id that follows from it.

use std::fmt;

use idem_runtime::handler::OperationSpec;
use idem_runtime::key::limits::OPERATION_MAX;
use idem_runtime::{IdempotencyKey, Namespace, Scope};

use super::limits::LABEL_MAX;
use super::refused::{EventError, EventField};
use super::text;

/// The call that an event comes from: namespace, scope, key and operation.
///
/// Every id of an event of this call is derived from it, so that a repeated call would give the same ids.
///
/// ```
/// use idem_messaging::outbox::Origin;
/// use idem_runtime::{IdempotencyKey, Namespace, Operation};
///
/// const ESCALATE: Operation = Operation::new("cases", "escalate");
///
/// let key: IdempotencyKey = "8e03978e".parse()?;
/// let origin = Origin::of(ESCALATE, &key.global())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    namespace: Namespace,
    scope: Scope,
    key: IdempotencyKey,
    operation: Box<str>,
}

impl Origin {
    /// Creates the origin of a call of `operation` with `key`. The key must carry its scope.
    ///
    /// The operation of an annotated handler is that of its marker:
    /// `Origin::of(Escalate::OPERATION, key)` after `#[idempotent(.., marker = Escalate)]`. If the handler has a
    /// `scope = ..` of its own, pass that scope to [`new`](Self::new): the key does not carry it.
    ///
    /// # Errors
    /// [`EventError::Missing`] of [`EventField::Scope`] if the key carries no scope: two tenants with one key would share
    /// an id.
    pub fn of(
        operation: impl Into<OperationSpec>,
        key: &IdempotencyKey,
    ) -> Result<Self, EventError> {
        let operation = operation.into();
        let scope = key.scope().ok_or(EventError::Missing {
            field: EventField::Scope,
        })?;
        Self::new(
            Namespace::from_static(operation.namespace()),
            scope.clone(),
            key,
            operation.name(),
        )
    }

    /// Creates an origin from its four parts. `scope` stands instead of the one that the key carries.
    ///
    /// # Errors
    /// [`EventError`] of [`EventField::Operation`] if the name is blank, is longer than 255 characters, or has a control
    /// character.
    pub fn new(
        namespace: Namespace,
        scope: Scope,
        key: &IdempotencyKey,
        operation: &str,
    ) -> Result<Self, EventError> {
        text::check(EventField::Operation, operation, OPERATION_MAX)?;
        Ok(Self {
            namespace,
            scope,
            key: key.clone(),
            operation: operation.into(),
        })
    }

    /// Returns the namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns the id of this call's event with `label`: also the key to give a job queue that is used as the outbox.
    ///
    /// The id is the text of [`IdempotencyKey::derive`] over `event`, the namespace, the key, the operation, the label
    /// and, unless it is [`Scope::GLOBAL`], the scope. Every release derives the same id from the same parts.
    ///
    /// ```
    /// # use idem_messaging::outbox::Origin;
    /// # use idem_runtime::{IdempotencyKey, Operation, Scope};
    /// # const ESCALATE: Operation = Operation::new("cases", "escalate");
    /// let key: IdempotencyKey = "8e03978e".parse()?;
    /// let one = Origin::of(ESCALATE, &key.clone().scoped(Scope::new("tenant-1")?))?;
    /// let two = Origin::of(ESCALATE, &key.scoped(Scope::new("tenant-2")?))?;
    /// assert_eq!(one.event_id("escalated")?, one.event_id("escalated")?);
    /// assert_ne!(one.event_id("escalated")?, two.event_id("escalated")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`EventError`] of [`EventField::Label`] if the label is blank, is longer than 255 characters, or has a control
    /// character.
    pub fn event_id(&self, label: &str) -> Result<EventId, EventError> {
        text::check(EventField::Label, label, LABEL_MAX)?;
        let mut parts = vec![
            "event",
            self.namespace.as_str(),
            self.key.as_str(),
            &self.operation,
            label,
        ];
        if !self.scope.is_global() {
            parts.push(self.scope.as_str());
        }
        // No part is blank: each was checked when it was made.
        let digest = IdempotencyKey::derive(parts).map_err(|_| EventError::Blank {
            field: EventField::Label,
        })?;
        Ok(EventId(digest.as_str().into()))
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Origin")
            .field("namespace", &self.namespace)
            .field("scope", &self.scope)
            .field("key", &self.key)
            .field("operation", &self.operation)
            .finish()
    }
}

/// Identifies an event for ever: 64 lower-case hexadecimal digits. It reveals nothing of the key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(Box<str>);

impl EventId {
    /// Reads an id, for example one that an operator typed. Returns `None` unless the text has 64 lower-case hexadecimal
    /// digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 64 && text.bytes().all(digit)).then(|| Self(text.into()))
    }

    /// The id of a row, which an outbox has written.
    pub(crate) fn stored(text: String) -> Self {
        Self(text.into())
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({})", self.0)
    }
}
