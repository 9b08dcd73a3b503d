//! What stands between a page and whoever is not meant by it.

pub(crate) mod form_token;
pub(crate) mod headers;
pub(crate) mod origin;
