//! What `tonic-prost-build` generates of the services of the tests, which stand in `tests/`, apart from those that need no
//! tonic.

/// Messages, clients and servers.
#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated"
)]
pub mod proto {
    tonic::include_proto!("shop.v1");
}
