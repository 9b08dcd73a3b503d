//! What a browser must be allowed to send and to read, for a CORS layer's lists.
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

/// Request headers, for `Access-Control-Allow-Headers`: both spellings of the key, and
/// `Content-Type`, without which no JSON can be sent.
pub const ALLOW_HEADERS: [HeaderName; 3] = [IDEMPOTENCY_KEY, X_IDEMPOTENCY_KEY, CONTENT_TYPE];

/// Response headers, for `Access-Control-Expose-Headers`: what tells a replay, when to try again,
/// where a result is, and where a refusal is explained.
pub const EXPOSE_HEADERS: [HeaderName; 4] = [IDEMPOTENT_REPLAYED, RETRY_AFTER, LOCATION, LINK];
