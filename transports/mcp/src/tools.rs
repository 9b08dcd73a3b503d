//! Registers tools: the annotation, the argument, and the reading of the key.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use idem_runtime::error::{Field, Invalid, Reason};
use idem_runtime::handler::{DescribeOperation, OperationSpec};
use idem_runtime::meta::MetaNames;
use idem_runtime::registry::{self, KeySource};
use idem_runtime::{__transport, Error, IdempotencyKey, Scope};
use rmcp::RoleServer;
use rmcp::handler::server::router::tool::ToolRoute;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{JsonObject, Tool};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::call::Call;
use crate::refusal::{self, ARGUMENT, Holder};

type ScopeOf = dyn Fn(&RequestContext<RoleServer>) -> Option<Scope> + Send + Sync;

/// Registers the tools of a server with the handlers that they call.
///
/// The key of a call is, in this order:
///
/// 1. in `_meta`, under one of the [`MetaNames`]; a host sends it, such as the stable id of a tool's use;
/// 2. the argument `idempotency_key`, if the tool has it ([`tool_with_argument`](Self::tool_with_argument));
/// 3. the handler's own, if it makes its key of the request (`key = natural(..)`). It then has no other: 1 is not read, and a
///    call with an argument of this name is refused, since its sender believes in it.
///
/// A call with both 1 and 2 is refused if they differ.
#[derive(Clone)]
pub struct Tools {
    names: Arc<MetaNames>,
    scope: Arc<ScopeOf>,
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// Where the key of a tool's calls can come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Meta,
    Argument,
    Request,
}

impl Tools {
    /// Reads keys in the scope that `scope` returns for a call: the account or tenant that your authentication found. Over HTTP
    /// it is in the extensions of the `http::request::Parts` in [`RequestContext::extensions`].
    ///
    /// A key without a scope is refused by the call, unless the handler names a scope.
    pub fn scoped<F>(scope: F) -> Self
    where
        F: Fn(&RequestContext<RoleServer>) -> Option<Scope> + Send + Sync + 'static,
    {
        Self {
            names: Arc::default(),
            scope: Arc::new(scope),
        }
    }

    /// Reads keys in the scope that all callers share: for a server with one user, such as one on standard input and output.
    pub fn global() -> Self {
        Self::scoped(|_| Some(Scope::GLOBAL))
    }

    /// Sets the names of the members of `_meta`.
    #[must_use]
    pub fn names(mut self, names: MetaNames) -> Self {
        self.names = Arc::new(names);
        self
    }

    /// Registers a tool with the handler that the marker `M` stands for. Its key comes by `_meta`, or is made of the request.
    ///
    /// `idempotentHint` says that the same arguments have no further effect. It is true if the handler makes its key of the
    /// request, and false otherwise: a host that calls again need not repeat a key in `_meta`.
    ///
    /// # Panics
    /// Panics if the registry does not have exactly one handler of the operation.
    #[must_use]
    pub fn tool<M, S>(&self, route: ToolRoute<S>) -> ToolRoute<S>
    where
        M: DescribeOperation,
        S: Send + Sync + 'static,
    {
        let source = match key_source::<M>() {
            KeySource::Request => Source::Request,
            _ => Source::Meta,
        };
        self.register::<M, S>(route, source)
    }

    /// Registers a tool that also has the argument `idempotency_key`, with the handler that the marker `M` stands for.
    ///
    /// The argument is added to the tool's schema, and is required if the handler requires a key. It is taken out
    /// before the tool reads its parameters, so it is no part of the compared request. `idempotentHint` is true if the key is
    /// required: the same arguments then have the same key.
    ///
    /// # Panics
    /// Panics if the registry does not have exactly one handler of the operation, if the handler makes its key of the
    /// request, or if the tool's parameters already have a member `idempotency_key`.
    #[must_use]
    pub fn tool_with_argument<M, S>(&self, route: ToolRoute<S>) -> ToolRoute<S>
    where
        M: DescribeOperation,
        S: Send + Sync + 'static,
    {
        assert!(
            key_source::<M>() != KeySource::Request,
            "the handler of tool `{}` makes its key of the request: register it with `tool`",
            route.name()
        );
        self.register::<M, S>(route, Source::Argument)
    }

    fn register<M, S>(&self, route: ToolRoute<S>, source: Source) -> ToolRoute<S>
    where
        M: DescribeOperation,
        S: Send + Sync + 'static,
    {
        let spec: OperationSpec = M::OPERATION.into();
        let ToolRoute { call, attr, .. } = route;
        let rule = Rule {
            tools: self.clone(),
            spec,
            source,
            has_output_schema: attr.output_schema.is_some(),
            declares_argument: has_argument(&attr.input_schema),
        };
        let attr = described(attr, source, spec.policy().key_required);
        ToolRoute::new_dyn(attr, move |mut context: ToolCallContext<'_, S>| match rule
            .read(&mut context)
        {
            Ok(read) => {
                context.request_context.extensions.insert(read);
                call(context)
            }
            Err((refusal, holder)) => {
                __transport::emit_refused(rule.spec, &refusal);
                let names = &rule.tools.names;
                let answer = refusal::answer(&refusal, holder, names, rule.has_output_schema);
                Box::pin(ready(answer.map(Into::into)))
            }
        })
    }
}

/// How the key of one tool is read.
struct Rule {
    tools: Tools,
    spec: OperationSpec,
    source: Source,
    has_output_schema: bool,
    declares_argument: bool,
}

impl Rule {
    /// Reads the key of a call and takes it out of the arguments.
    fn read<S>(&self, context: &mut ToolCallContext<'_, S>) -> Result<Call, (Error, Holder)> {
        let (key, holder) = match self.source {
            Source::Request if self.is_believed(context) => {
                return Err((refused(Reason::KeyInRequest), Holder::Model));
            }
            Source::Request => (None, Holder::Model),
            Source::Meta | Source::Argument => self.key(context)?,
        };
        if key.is_none() && self.source != Source::Request && self.spec.policy().key_required {
            let operation = self.spec.name().into();
            return Err((Error::KeyMissing { operation }, holder));
        }
        let scope = (self.tools.scope)(&context.request_context);
        let key = match (key, scope) {
            (Some(key), Some(scope)) => Some(key.scoped(scope)),
            (key, _) => key,
        };
        Ok(Call {
            key,
            holder,
            names: Arc::clone(&self.tools.names),
            has_output_schema: self.has_output_schema,
        })
    }

    fn key<S>(
        &self,
        context: &mut ToolCallContext<'_, S>,
    ) -> Result<(Option<IdempotencyKey>, Holder), (Error, Holder)> {
        let names = &self.tools.names;
        let meta = names
            .key(&context.request_context.meta)
            .map_err(|invalid| (invalid.into(), Holder::Host))?;
        if self.source == Source::Meta {
            if !self.is_believed(context) {
                return Ok((meta, Holder::Host));
            }
            // Nothing reads the argument, and its sender believes that the call is protected.
            let instead = format!("_meta[\"{}\"]", names.idempotency_key()).into();
            return Err((refused(Reason::NotRead { instead }), Holder::Model));
        }
        let argument = context.arguments.as_mut();
        let argument = argument.and_then(|arguments| arguments.remove(ARGUMENT));
        let argument = argument
            .map(|value| argument_key(&value))
            .transpose()
            .map_err(|refusal| (refusal, Holder::Model))?;
        match (meta, argument) {
            (Some(meta), Some(argument)) if meta != argument => {
                Err((refused(Reason::Repeated), Holder::Model))
            }
            (Some(meta), None) => Ok((Some(meta), Holder::Host)),
            (_, argument) => Ok((argument, Holder::Model)),
        }
    }

    /// Whether the call has the argument, though neither this crate nor the tool's own parameters know it.
    fn is_believed<S>(&self, context: &ToolCallContext<'_, S>) -> bool {
        let arguments = context.arguments.as_ref();
        !self.declares_argument && arguments.is_some_and(|all| all.contains_key(ARGUMENT))
    }
}

fn argument_key(value: &Value) -> Result<IdempotencyKey, Error> {
    let text = value.as_str().ok_or_else(|| refused(Reason::NotText))?;
    text.parse()
}

fn refused(reason: Reason) -> Error {
    Invalid::new(Field::Parameter(ARGUMENT.into()), reason).into()
}

fn key_source<M: DescribeOperation>() -> KeySource {
    let spec: OperationSpec = M::OPERATION.into();
    let handler = registry::handler_of::<M>();
    let handler = handler.unwrap_or_else(|| {
        panic!(
            "the registry has no handler of `{}` in `{}`, or more than one: `idem_runtime::registry::check` says which",
            spec.name(),
            spec.namespace()
        )
    });
    handler.key_source()
}

fn has_argument(schema: &JsonObject) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.contains_key(ARGUMENT))
}

/// Adds the annotation and the argument to a tool's description.
fn described(mut tool: Tool, source: Source, key_required: bool) -> Tool {
    if source == Source::Argument {
        assert!(
            !has_argument(&tool.input_schema),
            "the parameters of tool `{}` have a member `{ARGUMENT}`, and would be compared with it: remove it, the argument \
             is added here",
            tool.name
        );
        let schema = Arc::make_mut(&mut tool.input_schema);
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        if let Some(properties) = properties.as_object_mut() {
            properties.insert(ARGUMENT.to_owned(), argument());
        }
        if key_required {
            let required = schema.entry("required").or_insert_with(|| json!([]));
            if let Some(required) = required.as_array_mut() {
                required.push(ARGUMENT.into());
            }
        }
    }
    let hint = source != Source::Meta && key_required;
    let annotations = tool.annotations.take().unwrap_or_default();
    tool.with_annotations(annotations.idempotent(hint))
}

/// The schema of the argument.
fn argument() -> Value {
    json!({
        "type": "string",
        "minLength": 1,
        "maxLength": idem_runtime::key::limits::KEY_MAX,
        "description": "A random text, such as a UUID, chosen anew for each intended effect. Repeat it when the same call is \
                        repeated: the call then has no further effect and returns the first result.",
    })
}
