//! The shop on axum, with layers around its routes.

use std::ops::Deref;

use axum::Router;
pub(crate) use idem_tests_http::client::text;
use idem_tests_http::on_axum;

/// A shop that is open.
pub(crate) struct Shop(idem_tests_http::Shop);

impl Shop {
    /// With layers around its routes.
    pub(crate) async fn open_with(layers: impl FnOnce(Router) -> Router) -> Self {
        let shop = idem_tests_http::Shop::open_by(None, |listener, desk| {
            on_axum::serve(listener, layers(on_axum::routes(desk)))
        });
        Self(shop.await)
    }
}

impl Deref for Shop {
    type Target = idem_tests_http::Shop;

    fn deref(&self) -> &idem_tests_http::Shop {
        &self.0
    }
}
