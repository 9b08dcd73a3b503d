//! The pages. Every value goes through maud, which escapes it.

pub(crate) mod changes;
pub(crate) mod event;
pub(crate) mod forms;
#[cfg(feature = "registry")]
pub(crate) mod handlers;
pub(crate) mod health;
pub(crate) mod hours;
pub(crate) mod layout;
pub(crate) mod listing;
pub(crate) mod outbox;
pub(crate) mod overview;
pub(crate) mod record;
pub(crate) mod search;
pub(crate) mod text;
pub(crate) mod unknown;
