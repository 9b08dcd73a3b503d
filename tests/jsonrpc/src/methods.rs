//! The handlers and the methods that call them.

use idem_jsonrpc::{Call, MetaNames, Module, Refusal};
use idem_runtime::error::is_transient;
use idem_runtime::http::Problem;
use idem_runtime::{Attempt, Failure, IdempotencyKey, Scope, StoredFailure, idempotent};
use idem_tests::gate::{self, GatePoint};
use jsonrpsee::types::ErrorObjectOwned;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::{SqlitePool, SqliteTransaction};

/// What a customer orders.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrder {
    /// The thing.
    pub item: String,
    /// How it is packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packing: Option<Packing>,
}

/// How an order is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Packing {
    /// In paper.
    Paper,
    /// In a box, as a present.
    GiftBox,
}

/// An order that was placed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placed {
    /// Its number.
    pub number: i64,
    /// The thing.
    pub item: String,
    /// Of all orders before.
    pub history: Vec<i64>,
}

/// Why there is no order.
#[derive(Debug, thiserror::Error, Failure)]
pub enum OrderError {
    /// The shop does not sell it.
    #[error("{item} is sold out")]
    #[failure(permanent)]
    SoldOut {
        /// The thing.
        item: String,
    },
    /// A recorded failure of another build.
    #[error("{}", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
    /// A refusal of the library.
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    /// The database's error.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

impl From<OrderError> for ErrorObjectOwned {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::Idempotency(error) => Refusal::from(error).into(),
            OrderError::SoldOut { .. } | OrderError::Recorded(_) => {
                Self::owned(1, error.to_string(), None::<()>)
            }
            OrderError::Database(error) if is_transient(&error) => {
                Refusal::from(Problem::try_again()).into()
            }
            OrderError::Database(_) => jsonrpsee::types::ErrorCode::InternalError.into(),
        }
    }
}

async fn insert(tx: &mut SqliteTransaction<'_>, item: &str) -> Result<i64, sqlx::Error> {
    let insert = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number");
    insert.bind(item).fetch_one(&mut **tx).await
}

/// Places an order.
///
/// # Errors
/// [`OrderError`], as its variants say.
#[idempotent(namespace = "orders", failures = "record", marker = PlaceOrder)]
pub async fn place_order(
    tx: &mut SqliteTransaction<'_>,
    key: &IdempotencyKey,
    order: &NewOrder,
) -> Result<Placed, OrderError> {
    gate::pass(key.as_str(), GatePoint::BeforeWrite).await;
    let item = order.item.clone();
    let number = insert(tx, &item).await?;
    if item == "unicorn" {
        return Err(OrderError::SoldOut { item });
    }
    gate::pass(key.as_str(), GatePoint::AfterWrite).await;
    let history = (1..number).collect();
    Ok(Placed {
        number,
        item,
        history,
    })
}

#[idempotent(namespace = "orders", key_required = false, marker = TakeNote)]
async fn take_note(
    tx: &mut SqliteTransaction<'_>,
    key: Option<IdempotencyKey>,
    anything: &Value,
) -> Result<i64, OrderError> {
    Ok(insert(tx, &anything.to_string()).await?)
}

/// The key is the item: who asks twice gets one.
#[idempotent(namespace = "orders", key = natural(item), scope = Scope::GLOBAL, marker = Reserve)]
async fn reserve(tx: &mut SqliteTransaction<'_>, item: &str) -> Result<Placed, OrderError> {
    Ok(Placed {
        number: insert(tx, item).await?,
        item: item.to_owned(),
        history: Vec::new(),
    })
}

#[idempotent(namespace = "mail", lease = "5m", marker = SendMail)]
async fn send_mail(
    _attempt: &Attempt,
    key: &IdempotencyKey,
    to: String,
) -> Result<(), idem_runtime::Error> {
    assert_ne!(to, "nobody", "the provider's program falls over");
    Ok(())
}

/// Parameters with one member.
#[derive(Debug, Deserialize, JsonSchema)]
struct Item {
    item: String,
}

/// Returns the shop's methods.
///
/// # Panics
/// Panics if two methods have one name.
pub fn module(pool: SqlitePool, names: MetaNames) -> Module<SqlitePool> {
    type Here = Call<SqlitePool>;
    let mut module = Module::with_names(pool, names);
    module
        .register_idempotent(
            "orders.place",
            PlaceOrder,
            |order: NewOrder, key: IdempotencyKey, call: Here| async move {
                place_order(&*call.context, &key, &order).await
            },
        )
        .expect("a new name")
        .summary("Places an order.")
        .described();
    module
        .register_idempotent(
            "orders.note",
            TakeNote,
            |anything: Value, key: Option<IdempotencyKey>, call: Here| async move {
                take_note(&*call.context, key, &anything).await
            },
        )
        .expect("a new name");
    module
        .register_idempotent(
            "orders.reserve",
            Reserve,
            |Item { item }: Item, (): (), call: Here| async move {
                reserve(&*call.context, &item).await
            },
        )
        .expect("a new name")
        .described();
    module
        .register_idempotent(
            "mail.send",
            SendMail,
            |Item { item }: Item, key: IdempotencyKey, call: Here| async move {
                let sent = send_mail(&*call.context, &key, item).await;
                sent.map_err(Refusal::from)
            },
        )
        .expect("a new name")
        .described();
    module
        .register_query("orders.count", |(): (), call: Here| async move {
            let count = sqlx::query_scalar("SELECT count(*) FROM orders");
            let count: Result<i64, _> = count.fetch_one(&*call.context).await;
            count.map_err(OrderError::from)
        })
        .expect("a new name")
        .summary("Counts the orders.")
        .described();
    module
        .register_discover("Shop", "1.0.0")
        .expect("a new name");
    module
}
