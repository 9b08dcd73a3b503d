//! Messages that are safe to repeat, in the handler's own sqlx transaction.

pub mod inbox;
pub mod outbox;
pub mod versions;
