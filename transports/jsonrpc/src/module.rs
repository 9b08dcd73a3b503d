//! A module of methods, of which some are idempotent.

use std::marker::PhantomData;
use std::sync::Arc;

use http::Extensions;
use idem_runtime::handler::DescribeOperation;
use idem_runtime::meta::MetaNames;
use idem_runtime::{__transport as runtime, Replayable};
use jsonrpsee_core::RegisterMethodError;
use jsonrpsee_core::server::RpcModule;
use jsonrpsee_types::{ErrorObjectOwned, Params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::answer::answer;
use crate::key::{self, KeyArgument, Position, Sent};
use crate::layer::IdempotencyLayer;
use crate::method::{KeyUse, Method, Registered};
use crate::refusal::Refusal;

/// What a handler gets besides its parameters and its key.
#[derive(Debug, Clone)]
pub struct Call<C> {
    /// The module's context: a pool, for example.
    pub context: Arc<C>,
    /// The call's extensions: what middlewares have put there, such as the [`Scope`](idem_runtime::Scope).
    pub extensions: Extensions,
}

/// The methods of a server, with the keys of their calls: a [`RpcModule`] whose idempotent methods name the marker type of
/// their handler.
///
/// ```
/// use idem_jsonrpc::{Call, Module, Refusal};
/// use idem_runtime::{IdempotencyKey, idempotent};
/// use sqlx::{SqlitePool, SqliteTransaction};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct NewOrder { item: String }
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Order { number: i64 }
///
/// #[idempotent(namespace = "orders", marker = PlaceOrder)]
/// async fn place_order(
///     tx: &mut SqliteTransaction<'_>,
///     key: &IdempotencyKey,
///     order: &NewOrder,
/// ) -> Result<Order, Box<dyn std::error::Error + Send + Sync>> {
///     let insert = sqlx::query_scalar("INSERT INTO orders (item) VALUES (?) RETURNING number");
///     let number = insert.bind(&order.item).fetch_one(&mut **tx).await?;
///     Ok(Order { number })
/// }
///
/// # fn refused(_: Box<dyn std::error::Error + Send + Sync>) -> Refusal { idem_runtime::Error::LeaseLost.into() }
/// fn methods(pool: SqlitePool) -> Result<Module<SqlitePool>, jsonrpsee::core::RegisterMethodError> {
///     let mut methods = Module::new(pool);
///     methods.register_idempotent(
///         "orders.place",
///         PlaceOrder,
///         |order: NewOrder, key: IdempotencyKey, call: Call<SqlitePool>| async move {
///             place_order(&*call.context, &key, &order).await.map_err(refused)
///         },
///     )?;
///     Ok(methods)
/// }
/// ```
///
/// `Server::start(module.into_rpc_module())` serves it. Parameters are by name, and `_meta` is not among them: it is taken out
/// before they are read, and before the request is compared.
#[derive(Debug)]
pub struct Module<C> {
    rpc: RpcModule<C>,
    names: Arc<MetaNames>,
    methods: Vec<Method>,
}

impl<C: Send + Sync + 'static> Module<C> {
    /// Creates a module without methods. Its names of `_meta` are the default ones.
    pub fn new(context: C) -> Self {
        Self::with_names(context, MetaNames::default())
    }

    /// Creates a module without methods, and with these members of `_meta`.
    pub fn with_names(context: C, names: MetaNames) -> Self {
        Self {
            rpc: RpcModule::new(context),
            names: Arc::new(names),
            methods: Vec::new(),
        }
    }

    /// Registers a method that calls the handler which `marker` stands for.
    ///
    /// `P` is what the parameters are read as, `K` the key ([`KeyArgument`]), and `T` the result. The handler runs if the
    /// key is acceptable, or absent where that is allowed; otherwise the call is answered by a [`Refusal`]. The result of a
    /// replay tells in its `_meta` that it is one: see [`answer`].
    ///
    /// # Errors
    /// [`RegisterMethodError`] if the module has a method of this name.
    pub fn register_idempotent<M, P, K, T, E, F, Fut>(
        &mut self,
        name: &'static str,
        marker: M,
        handler: F,
    ) -> Result<Registered<'_, P, T>, RegisterMethodError>
    where
        M: DescribeOperation,
        P: DeserializeOwned + Send + 'static,
        K: KeyArgument,
        T: Serialize + Send + 'static,
        E: Into<ErrorObjectOwned>,
        F: Fn(P, K, Call<C>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<Replayable<T>, E>> + Send,
    {
        // Its type says all.
        drop(marker);
        let names = Arc::clone(&self.names);
        let method = move |params: Params<'static>, context, extensions: Extensions| {
            let (names, handler) = (Arc::clone(&names), handler.clone());
            async move {
                let sent = extensions.get::<Sent>().cloned();
                let sent = sent.unwrap_or_else(|| Sent::of(params.as_str(), Position::Unknown));
                let read = sent.key(&extensions, &names);
                let key = key::argument(&read, &extensions, name).map_err(|error| {
                    runtime::emit_refused(M::OPERATION, &error);
                    Refusal::of(&error, Some(&names))
                })?;
                let params = parsed(&params)?;
                let call = Call {
                    context,
                    extensions,
                };
                let result = handler(params, key, call).await.map_err(Into::into)?;
                answer(&result, &names).map_err(|error| unserializable(name, &error))
            }
        };
        self.rpc.register_async_method(name, method)?;
        Ok(self.add(name, Some(KeyUse::of::<M, K>())))
    }

    /// Registers a method without idempotency: a query, whose calls take no key.
    ///
    /// # Errors
    /// [`RegisterMethodError`] if the module has a method of this name.
    pub fn register_query<P, T, E, F, Fut>(
        &mut self,
        name: &'static str,
        handler: F,
    ) -> Result<Registered<'_, P, T>, RegisterMethodError>
    where
        P: DeserializeOwned + Send + 'static,
        T: Serialize + Send + 'static,
        E: Into<ErrorObjectOwned>,
        F: Fn(P, Call<C>) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send,
    {
        let method = move |params: Params<'static>, context, extensions: Extensions| {
            let handler = handler.clone();
            async move {
                let params = parsed(&params)?;
                let call = Call {
                    context,
                    extensions,
                };
                let result = handler(params, call).await.map_err(Into::into)?;
                to_raw_value(&result).map_err(|error| unserializable(name, &error))
            }
        };
        self.rpc.register_async_method(name, method)?;
        Ok(self.add(name, None))
    }

    /// Returns the middleware that sees batches, and knows the keys of notifications by the names of this module.
    pub fn layer(&self) -> IdempotencyLayer {
        IdempotencyLayer::shared(&self.names)
    }

    /// Returns the names of `_meta`.
    pub fn names(&self) -> &MetaNames {
        &self.names
    }

    /// Returns the module of jsonrpsee, for methods that this one has no form for, such as subscriptions.
    pub fn rpc_module_mut(&mut self) -> &mut RpcModule<C> {
        &mut self.rpc
    }

    /// Returns the module of jsonrpsee, for a server.
    pub fn into_rpc_module(self) -> RpcModule<C> {
        self.rpc
    }

    #[cfg(feature = "openrpc")]
    pub(crate) fn methods(&self) -> &[Method] {
        &self.methods
    }

    fn add<P, T>(&mut self, name: &'static str, key_use: Option<KeyUse>) -> Registered<'_, P, T> {
        self.methods.push(Method::new(name, key_use));
        let at = self.methods.len() - 1;
        Registered {
            method: &mut self.methods[at],
            types: PhantomData,
        }
    }
}

/// Reads the parameters without their `_meta`.
fn parsed<P: DeserializeOwned>(params: &Params<'_>) -> Result<P, ErrorObjectOwned> {
    let Some(text) = params.as_str() else {
        return params.parse();
    };
    let rest = key::without_meta(text);
    let text = rest.as_deref().map_or(text, RawValue::get);
    let read = Params::new(Some(text)).parse();
    if key::is_empty(text) {
        // No member is no parameters, for a method that has none.
        return read.or_else(|fault| Params::new(None).parse().map_err(|_| fault));
    }
    read
}

fn unserializable(method: &str, error: &serde_json::Error) -> ErrorObjectOwned {
    tracing::error!(target: "idem", method, %error, "the result could not be serialized");
    jsonrpsee_types::ErrorCode::InternalError.into()
}
