//! The headers for a CORS layer: those that browsers must be allowed to send and to read.
//!
//! ```
//! use idem_axum::cors;
//!
//! // tower_http::cors::CorsLayer::new()
//! //     .allow_headers(cors::ALLOW_HEADERS)
//! //     .expose_headers(cors::EXPOSE_HEADERS)
//! assert!(cors::ALLOW_HEADERS.iter().any(|name| name == "idempotency-key"));
//! assert!(cors::EXPOSE_HEADERS.iter().any(|name| name == "idempotent-replayed"));
//! ```

use http::header::{CONTENT_TYPE, HeaderName, LINK, LOCATION, RETRY_AFTER};

use crate::header::{IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED, X_IDEMPOTENCY_KEY};

/// Request headers, for `Access-Control-Allow-Headers`: both names of the key, and `Content-Type`, which
/// JSON requests need.
pub const ALLOW_HEADERS: [HeaderName; 3] = [IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY, CONTENT_TYPE];

/// Response headers, for `Access-Control-Expose-Headers`: they mark a replay, and say when to retry,
/// where a result is, and where a refusal is explained.
pub const EXPOSE_HEADERS: [HeaderName; 4] = [IDEMPOTENT_REPLAYED, RETRY_AFTER, LOCATION, LINK];
