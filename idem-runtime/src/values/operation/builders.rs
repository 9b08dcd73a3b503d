//! The builder methods and getters that both kinds of operation share.

/// Generates the builder methods that apply with and without a lease, and the traits of a constant.
macro_rules! builders {
    ($Operation:ident) => {
        impl<F> $Operation<F> {
            /// Sets how long a record is kept after it was written, by the database's clock.
            ///
            /// # Panics
            /// Panics if the time is below a microsecond, the unit of the databases, or above 3,650 days.
            #[must_use]
            pub const fn retention(mut self, retention: Duration) -> Self {
                self.spec = self.spec.retention(retention);
                self
            }

            /// Lets a duplicate wait up to this long for the running attempt, instead of refusing it at
            /// once.
            ///
            /// # Panics
            /// Panics if the time is below a microsecond or above 60 seconds.
            #[must_use]
            pub const fn wait(mut self, wait: Duration) -> Self {
                self.spec = self.spec.wait(wait);
                self
            }

            /// Sets the largest request that the record stores, in bytes of canonical JSON;
            /// [`DEFAULT_REQUEST_LIMIT`](crate::values::policy::DEFAULT_REQUEST_LIMIT) by default. Of a larger one it
            /// stores the hash, and that it was too large. It is compared like any other.
            #[must_use]
            pub const fn request_limit(mut self, bytes: usize) -> Self {
                self.spec = self.spec.request_limit(bytes);
                self
            }

            /// Sets the largest result or failure that is recorded, in bytes of JSON;
            /// [`DEFAULT_RESULT_LIMIT`](crate::values::policy::DEFAULT_RESULT_LIMIT) by default. A call with a larger
            /// one returns [`Error::TooLargeToRecord`](crate::Error::TooLargeToRecord).
            ///
            /// # Panics
            /// Panics if the limit is zero.
            #[must_use]
            pub const fn result_limit(mut self, bytes: usize) -> Self {
                self.spec = self.spec.result_limit(bytes);
                self
            }

            /// Compares no requests: only the key decides.
            #[must_use]
            pub const fn without_fingerprint(mut self) -> Self {
                self.spec = self.spec.without_fingerprint();
                self
            }

            /// Treats a record past its retention as absent, by the database's clock, instead of replaying
            /// it until a purge deletes it.
            #[must_use]
            pub const fn strict_expiry(mut self) -> Self {
                self.spec = self.spec.strict_expiry();
                self
            }

            /// Records in another table: `[a-z_][a-z0-9_]*`, at most 61 bytes, optionally with a schema (63 bytes)
            /// before it. Databases cut names at 63 bytes, and the names of the indexes of a longer table would be
            /// equal after the cut.
            ///
            /// # Panics
            /// Panics if `table` is no such identifier, because it is spliced into SQL text.
            #[must_use]
            pub const fn table(mut self, table: &'static str) -> Self {
                self.spec = self.spec.table(table);
                self
            }

            /// Encrypts or compresses payloads by this codec; see [`codec`](crate::codec).
            #[cfg(any(feature = "encrypt", feature = "zstd"))]
            #[must_use]
            pub const fn codec(mut self, codec: &'static crate::values::codec::Codec) -> Self {
                self.spec = self.spec.with_codec(codec);
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

            /// Returns the options of the operation.
            pub const fn policy(&self) -> &Policy {
                self.spec.policy()
            }
        }

        // Derived implementations would require the same traits of `F`, which is only a type parameter.

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
