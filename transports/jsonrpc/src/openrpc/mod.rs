//! An [OpenRPC](https://spec.open-rpc.org) document of a module's methods (feature `openrpc`).
//!
//! Each method that is [described](Registered::described) is in it, with the schemas of its parameters and its result. Those
//! that take a key are marked, so that a generated client attaches one to exactly these:
//!
//! ```json
//! {
//!   "name": "orders.place",
//!   "idempotent": true,
//!   "x-idempotency": { "key": "required", "member": "dev.idem/idempotencyKey", "retention": 86400 }
//! }
//! ```
//!
//! `key` is `required`, `optional`, or `in-request` if the method finds it in its parameters. `member` is the name in
//! `params._meta`, and `retention` the seconds for which a key is remembered. The specification has extensions by `x-`; the plain
//! `idempotent` is what Elarion's clients read.
//!
//! `idem client typescript openrpc.json` generates a client from it.

mod definitions;
mod document;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::method::{MethodSchemas, Registered};
use crate::module::Module;

impl<P: JsonSchema, T: JsonSchema> Registered<'_, P, T> {
    /// Puts the method into documents, with the schemas of its types.
    ///
    /// # Panics
    /// Panics if the parameters are no object with members that are known by name, such as those of a struct: OpenRPC lists
    /// parameters by name.
    #[track_caller]
    #[allow(
        clippy::return_self_not_must_use,
        reason = "what it changes is in the module"
    )]
    pub fn described(self) -> Self {
        let schemas = MethodSchemas {
            // Without a reference: its members are the parameters.
            params: |generator| P::json_schema(generator).to_value(),
            result: |generator| generator.subschema_for::<T>().to_value(),
        };
        if let Err(why) = document::members((schemas.params)(&mut SchemaGenerator::default())) {
            panic!("the parameters of `{}` {why}", self.method.name);
        }
        self.method.schemas = Some(schemas);
        self
    }
}

impl<C: Send + Sync + 'static> Module<C> {
    /// Returns the OpenRPC document (version 1.3) of the described methods, in the order of their names.
    pub fn openrpc(&self, title: &str, version: &str) -> Value {
        document::of(self.methods(), self.names(), title, version)
    }

    /// Registers the method `rpc.discover`, by which the OpenRPC specification lets a client ask for the document. It tells
    /// of the methods that are described before.
    ///
    /// # Errors
    /// [`RegisterMethodError`](jsonrpsee_core::RegisterMethodError) if the module has this method.
    pub fn register_discover(
        &mut self,
        title: &str,
        version: &str,
    ) -> Result<(), jsonrpsee_core::RegisterMethodError> {
        let document = self.openrpc(title, version);
        let discover = move |_: jsonrpsee_types::Params<'_>, _: &C, _: &http::Extensions| {
            Ok::<_, jsonrpsee_types::ErrorObjectOwned>(document.clone())
        };
        self.rpc_module_mut()
            .register_method("rpc.discover", discover)?;
        Ok(())
    }
}
