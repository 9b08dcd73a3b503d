//! The headers for a CORS layer: those that browsers must be allowed to send and to read.
//!
//! They are what this library needs. Add what your service needs: a page that sends `Authorization` fails at its preflight
//! otherwise, and the wildcard `*` does not cover that header (Fetch standard, "CORS non-wildcard request-header name").
//!
//! ```
//! use http::Method;
//! use http::header::AUTHORIZATION;
//! use idem_tower::cors;
//! use tower_http::cors::{AllowHeaders, CorsLayer};
//!
//! # let origin = http::HeaderValue::from_static("https://shop.example");
//! let layer = CorsLayer::new()
//!     .allow_origin(origin)
//!     .allow_methods([Method::POST])
//!     .allow_headers(AllowHeaders::list(cors::ALLOW_HEADERS.into_iter().chain([AUTHORIZATION])))
//!     .expose_headers(cors::EXPOSE_HEADERS);
//! # let _: CorsLayer = layer;
//! ```
//!
//! The layer belongs outside of authentication, because a preflight carries no token.

use http::header::{CONTENT_TYPE, HeaderName, LINK, LOCATION, RETRY_AFTER};

use crate::header::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, X_IDEMPOTENCY_KEY};

/// Request headers, for `Access-Control-Allow-Headers`: both names of the key, and `Content-Type`, which
/// JSON requests need. [`Authorization`](self) is not among them.
pub const ALLOW_HEADERS: [HeaderName; 3] = [IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY, CONTENT_TYPE];

/// Response headers, for `Access-Control-Expose-Headers`: they mark a replay, and say when to retry,
/// where a result is, and where a refusal is explained.
pub const EXPOSE_HEADERS: [HeaderName; 4] = [IDEMPOTENT_REPLAYED, RETRY_AFTER, LOCATION, LINK];
