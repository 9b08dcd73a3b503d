//! Checks that no two handlers share an operation.

use std::collections::BTreeMap;
use std::fmt;

use super::Handler;

/// Several handlers share an operation: a key used with one handler would replay the result of
/// another.
///
/// No handler was called and nothing was written. Give each handler a separate `operation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedOperations {
    operations: Vec<SharedOperation>,
}

impl SharedOperations {
    /// Returns the operations, in the order of their namespaces and names.
    pub fn operations(&self) -> &[SharedOperation] {
        &self.operations
    }
}

impl fmt::Display for SharedOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "several handlers share an operation, so a key used with one would replay the result of another; give each a separate `operation`",
        )?;
        for shared in &self.operations {
            let SharedOperation {
                namespace,
                operation,
                handlers,
            } = shared;
            write!(f, "\n`{operation}` in namespace `{namespace}`:")?;
            for handler in handlers {
                write!(f, "\n  {handler}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for SharedOperations {}

/// One operation, and the handlers that share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedOperation {
    namespace: &'static str,
    operation: &'static str,
    handlers: Vec<&'static Handler>,
}

impl SharedOperation {
    /// Returns the key space.
    pub fn namespace(&self) -> &'static str {
        self.namespace
    }

    /// Returns the operation's name.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// Returns the handlers, two or more, in the order of their files and lines.
    pub fn handlers(&self) -> &[&'static Handler] {
        &self.handlers
    }
}

/// Groups handlers by namespace and operation, and returns the groups of two or more as an error.
pub(super) fn check(
    handlers: impl Iterator<Item = &'static Handler>,
) -> Result<(), SharedOperations> {
    let mut groups: BTreeMap<_, Vec<&Handler>> = BTreeMap::new();
    for handler in handlers {
        if let Some(operation) = handler.operation() {
            let group = (handler.namespace(), operation);
            groups.entry(group).or_default().push(handler);
        }
    }
    let operations: Vec<_> = groups
        .into_iter()
        .filter(|(_, handlers)| handlers.len() > 1)
        .map(|((namespace, operation), mut handlers)| {
            handlers.sort_by_key(|handler| (handler.file(), handler.line(), handler.module()));
            SharedOperation {
                namespace,
                operation,
                handlers,
            }
        })
        .collect();
    if operations.is_empty() {
        Ok(())
    } else {
        Err(SharedOperations { operations })
    }
}

#[cfg(test)]
mod tests {
    use super::super::KeySource;
    use super::*;
    use crate::values::policy::Policy;

    const fn handler(
        namespace: &'static str,
        operation: Option<&'static str>,
        line: u32,
    ) -> Handler {
        Handler::new(
            namespace,
            operation,
            "create",
            ("app::orders", "src/orders.rs", line),
            Policy::DEFAULT,
            KeySource::Parameter,
        )
    }

    static HANDLERS: [Handler; 6] = [
        handler("b", Some("create"), 9),
        handler("a", Some("create"), 1),
        handler("b", Some("create"), 3),
        handler("b", Some("delete"), 4),
        handler("b", None, 5),
        handler("b", None, 6),
    ];

    #[test]
    fn an_operation_of_several_handlers_is_told_with_all_of_them() {
        let shared = check(HANDLERS.iter()).unwrap_err();
        let [shared_once] = shared.operations() else {
            panic!("{shared}");
        };
        assert_eq!(
            (shared_once.namespace(), shared_once.operation()),
            ("b", "create")
        );
        assert_eq!(shared_once.handlers(), [&HANDLERS[2], &HANDLERS[0]]);
        assert!(
            shared.to_string().ends_with(
                "`create` in namespace `b`:\n  app::orders::create (src/orders.rs:3)\n  app::orders::create (src/orders.rs:9)"
            ),
            "{shared}"
        );
    }

    #[test]
    fn an_operation_is_one_of_its_namespace_and_an_unknown_one_is_nobodys() {
        check(HANDLERS[..2].iter().chain(&HANDLERS[3..])).unwrap();
    }
}
