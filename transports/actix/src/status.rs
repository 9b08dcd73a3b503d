//! A resource that says what has become of a key.

use actix_web::{HttpRequest, HttpResponse};
use idem_runtime::store::{Backend, Store};
use idem_tower::StatusAccess;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Pool;

use crate::convert;

/// Returns the answer of a status resource: running, done, failed, unknown, or not known, as
/// [`StatusResource`](idem_tower::StatusResource) gives it. Route `GET` (and `HEAD`) to a handler that authorises and calls this.
///
/// There is no default of who may ask: `access` names the scope of the caller. Refuse those who may not before this call,
/// so that a refusal does not tell whether a key is in use.
///
/// ```
/// use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};
/// use idem_actix::{StatusAccess, status};
/// use idem_runtime::store::RawStore;
/// use idem_runtime::{Namespace, Scope};
/// use sqlx::SqlitePool;
///
/// async fn get_operation(pool: web::Data<SqlitePool>, request: HttpRequest) -> HttpResponse {
///     // The scope that your authentication set.
///     let scope = request.extensions().get::<Scope>().cloned();
///     let Some(scope) = scope else { return HttpResponse::Unauthorized().finish() };
///     let orders = RawStore::new(Namespace::from_static("orders"));
///     status(&pool, &orders, &StatusAccess::to(scope), &request).await
/// }
/// # let _ = web::get().to(get_operation);
/// ```
pub async fn status<DB, Req, Res>(
    pool: &Pool<DB>,
    store: &Store<Req, Res>,
    access: &StatusAccess,
    request: &HttpRequest,
) -> HttpResponse
where
    DB: Backend,
    Res: Serialize + DeserializeOwned,
{
    let Some(parts) = convert::parts(request) else {
        return HttpResponse::BadRequest().finish();
    };
    convert::response(idem_tower::status(pool, store, access, &parts).await)
}
