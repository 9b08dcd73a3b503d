//! What both kinds of operation let be said and asked of them, written once.

/// Writes the builders that mean something with a lease and without, and the traits of a constant.
macro_rules! builders {
    ($Operation:ident) => {
        impl<F> $Operation<F> {
            /// How long a record lives, counted from its writing by the database's clock.
            ///
            /// # Panics
            /// If below a microsecond, in which databases count, or above 3,650 days.
            #[must_use]
            pub const fn retention(mut self, retention: Duration) -> Self {
                self.spec = self.spec.retention(retention);
                self
            }

            /// Lets a duplicate wait up to this long for the attempt in flight, instead of refusing it at
            /// once.
            ///
            /// # Panics
            /// If below a microsecond or above 60 seconds.
            #[must_use]
            pub const fn wait(mut self, wait: Duration) -> Self {
                self.spec = self.spec.wait(wait);
                self
            }

            /// The longest request that the record keeps, in bytes of canonical JSON;
            /// [`DEFAULT_REQUEST_LIMIT`](crate::values::policy::DEFAULT_REQUEST_LIMIT) by default. Of a longer one it
            /// keeps the hash, and that it was too large: never a part. It is compared all the same.
            #[must_use]
            pub const fn request_limit(mut self, bytes: usize) -> Self {
                self.spec = self.spec.request_limit(bytes);
                self
            }

            /// Compares no requests: the key alone decides.
            #[must_use]
            pub const fn without_fingerprint(mut self) -> Self {
                self.spec = self.spec.without_fingerprint();
                self
            }

            /// Reads a record past its retention as absent, by the database's clock, instead of replaying
            /// it until a purge.
            #[must_use]
            pub const fn strict_expiry(mut self) -> Self {
                self.spec = self.spec.strict_expiry();
                self
            }

            /// Records in another table: `[a-z_][a-z0-9_]*`, at most 61 bytes, with a schema (63 bytes) before
            /// it if need be. A database cuts names at 63 bytes, and those of a longer table's indexes would
            /// be one.
            ///
            /// # Panics
            /// If it is no such identifier: it is spliced into SQL text.
            #[must_use]
            pub const fn table(mut self, table: &'static str) -> Self {
                self.spec = self.spec.table(table);
                self
            }

            /// Returns the key space.
            pub const fn namespace(&self) -> &'static str {
                self.spec.namespace()
            }

            /// Returns the operation's stable name.
            pub const fn name(&self) -> &'static str {
                self.spec.name()
            }

            /// Returns the table that the operation records in.
            pub const fn table_name(&self) -> &'static str {
                self.spec.table_name()
            }

            /// Returns what the operation asks of the library.
            pub const fn policy(&self) -> &Policy {
                self.spec.policy()
            }
        }

        // Derived, these would ask the same of `F`, which is only a mark in the type.

        impl<F> Clone for $Operation<F> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<F> Copy for $Operation<F> {}

        impl<F> PartialEq for $Operation<F> {
            fn eq(&self, other: &Self) -> bool {
                self.spec == other.spec
            }
        }

        impl<F> Eq for $Operation<F> {}

        impl<F> fmt::Debug for $Operation<F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($Operation))
                    .field("namespace", &self.namespace())
                    .field("name", &self.name())
                    .field("table", &self.table_name())
                    .field("policy", self.policy())
                    .finish()
            }
        }

        impl<F> From<$Operation<F>> for OperationSpec {
            fn from(operation: $Operation<F>) -> Self {
                operation.spec
            }
        }
    };
}

pub(super) use builders;
