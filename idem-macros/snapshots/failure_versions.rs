// #[derive(Failure)]
// 362 tokens
#[automatically_derived]
impl ::idem_runtime::Failure for PayError {
    const VERSIONS: ::idem_runtime::__private::Option<
        ::idem_runtime::__private::Versions<::idem_runtime::__private::StoredFailure>,
    > = ::idem_runtime::__private::Some(
        ::idem_runtime::__private::Versions::<
            ::idem_runtime::__private::StoredFailure,
        >::new(
                2,
                1,
                |older| ::idem_runtime::__private::step(
                    ::idem_runtime::__private::older(older),
                    upcast_failure,
                ),
            )
            .writing(1, ::idem_runtime::__private::None),
    );
    fn to_failure(
        &self,
    ) -> ::idem_runtime::__private::Option<::idem_runtime::__private::StoredFailure> {
        match self {
            Self::Declined {} => {
                ::idem_runtime::__private::Some(
                    ::idem_runtime::__private::described(self)
                        .failure("Declined", ::idem_runtime::__private::Value::Null),
                )
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
            "Declined" => return Self::Declined {},
            _ => {}
        }
        Self::Recorded {
            0: ::idem_runtime::__private::replayed::<StoredFailure>().held(failure),
        }
    }
    fn comes_back_as(&self, back: &Self) -> bool {
        let _ = back;
        match self {
            Self::Recorded { .. } => true,
            _ => ::idem_runtime::__private::same_variant(self, back),
        }
    }
}
