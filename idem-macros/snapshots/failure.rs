// #[derive(Failure)]
// 735 tokens
#[automatically_derived]
impl<T> ::idem_runtime::Failure for PayError<T>
where
    T: ::idem_runtime::__private::FailureField,
    Self: ::idem_runtime::__private::Described,
{
    fn to_failure(
        &self,
    ) -> ::idem_runtime::__private::Option<::idem_runtime::__private::StoredFailure> {
        match self {
            Self::Declined { code: field0, r#type: field1 } => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::described(self)
                        .failure(
                            "Declined",
                            ::idem_runtime::__private::named([
                                (
                                    "code",
                                    ::idem_runtime::__private::field::<T>().encode(field0),
                                ),
                                (
                                    "type",
                                    ::idem_runtime::__private::field::<u8>().encode(field1),
                                ),
                            ]),
                        ),
                )
            }
            Self::Closed {} => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::described(self)
                        .failure("closed", ::idem_runtime::__private::Value::Null),
                )
            }
            Self::Over { 0: field0, 1: field1 } => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::described(self)
                        .failure(
                            "Over",
                            ::idem_runtime::__private::listed([
                                ::idem_runtime::__private::field::<u8>().encode(field0),
                                ::idem_runtime::__private::field::<String>().encode(field1),
                            ]),
                        ),
                )
            }
            Self::Taken { .. } => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::described(self)
                        .failure("Taken", ::idem_runtime::__private::Value::Null),
                )
            }
            Self::Database { .. } | Self::Idempotency { .. } => {
                ::idem_runtime::__private::None
            }
            Self::Recorded { 0: held } => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::replayed::<StoredFailure>().stored(held),
                )
            }
        }
    }
    fn from_failure(failure: ::idem_runtime::__private::StoredFailure) -> Self {
        match failure.class.as_str() {
            "Declined" => {
                if let (
                    ::idem_runtime::__private::Some(field0),
                    ::idem_runtime::__private::Some(field1),
                ) = (
                    ::idem_runtime::__private::field::<T>().named(&failure, "code"),
                    ::idem_runtime::__private::field::<u8>().named(&failure, "type"),
                ) {
                    return Self::Declined {
                        code: field0,
                        r#type: field1,
                    };
                }
            }
            "closed" => return Self::Closed {},
            "Over" => {
                if let (
                    ::idem_runtime::__private::Some(field0),
                    ::idem_runtime::__private::Some(field1),
                ) = (
                    ::idem_runtime::__private::field::<u8>().listed(&failure, 0usize),
                    ::idem_runtime::__private::field::<String>().listed(&failure, 1usize),
                ) {
                    return Self::Over { 0: field0, 1: field1 };
                }
            }
            _ => {}
        }
        Self::Recorded {
            0: ::idem_runtime::__private::replayed::<StoredFailure>().held(failure),
        }
    }
    fn comes_back_as(&self, back: &Self) -> bool {
        let _ = back;
        match self {
            Self::Recorded { .. } | Self::Taken { .. } => true,
            _ => ::idem_runtime::__private::same_variant(self, back),
        }
    }
}
