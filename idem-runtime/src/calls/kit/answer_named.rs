//! Chooses between two meanings of a result that is named like an answer to a request: a value of the user's, or an answer.
//!
//! A bound on serde's two traits would be reported twice, in serde's words. Here the compiler looks for a method: on the value
//! itself if both traits are there, and otherwise on a reference to it, where one bound of our own has the message.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::contract::{Contract, Lifts, Reads, Writes, contract, reads, writes};

/// The encoder and the decoder of a result.
pub(crate) type WriteAndRead<T> = (Writes<T>, Reads<T>);

/// A result type that is named like an answer to a request.
pub struct AnswerNamed<T>(PhantomData<T>);

/// Names the result type.
pub const fn answer_named<T>() -> AnswerNamed<T> {
    AnswerNamed(PhantomData)
}

/// A result that is a value in spite of its name.
pub trait ByValue<T> {
    #[doc(hidden)]
    fn codec(self) -> WriteAndRead<T>;
}

impl<T: Serialize + DeserializeOwned> ByValue<T> for AnswerNamed<T> {
    fn codec(self) -> WriteAndRead<T> {
        (writes(), reads())
    }
}

/// A result that is what its name says.
pub trait ByReference<T> {
    #[doc(hidden)]
    fn codec(self) -> WriteAndRead<T>
    where
        T: RecordedAnswer;
}

impl<T> ByReference<T> for &AnswerNamed<T> {
    fn codec(self) -> WriteAndRead<T>
    where
        T: RecordedAnswer,
    {
        T::codec()
    }
}

/// An answer to a request that can be recorded: there is none.
#[diagnostic::on_unimplemented(
    message = "[IDEM019] `{Self}` is an answer to a request, and what is recorded is the value in it",
    label = "return that value: `Result<T, E>`",
    note = "answer in the axum handler that calls this one: `Ok(create_payment(&pool, &key, &cmd).await?.map(Json))`, or with a status, `Ok((StatusCode::CREATED, payment.map(Json)))`",
    note = "if it is a value of your own, it needs `Serialize` and `DeserializeOwned`"
)]
pub trait RecordedAnswer: Sized {
    #[doc(hidden)]
    fn codec() -> WriteAndRead<Self>;
}

/// As [`contract`], for a codec.
pub fn contract_of<T, E>((write, read): WriteAndRead<T>, lift: Lifts<E>) -> Contract<T, E> {
    contract(write, read, lift)
}
