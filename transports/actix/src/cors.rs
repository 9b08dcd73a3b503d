//! The headers for a CORS middleware such as actix-cors: those that browsers must be allowed to send and to read.
//!
//! They are what this library needs; [`idem_tower::cors`] says what your service adds.

use idem_tower::cors;

/// Returns the names of the request headers, for `Access-Control-Allow-Headers`.
pub fn allow_headers() -> impl Iterator<Item = String> {
    cors::ALLOW_HEADERS
        .into_iter()
        .map(|name| name.as_str().to_owned())
}

/// Returns the names of the response headers, for `Access-Control-Expose-Headers`.
pub fn expose_headers() -> impl Iterator<Item = String> {
    cors::EXPOSE_HEADERS
        .into_iter()
        .map(|name| name.as_str().to_owned())
}
