//! The parts that all operations of a document share.

use idem_runtime::http::Problem;
use utoipa::PartialSchema as _;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Components, OpenApi, Ref, RefOr};

use super::problem::ProblemSchema;
use super::{extension, parameter, responses};
use crate::options::PolicyOptions;

/// Edits each operation, and turns shared parts into components.
pub(super) fn edit(document: &mut OpenApi, options: &PolicyOptions) {
    let components = document.components.get_or_insert_with(Components::new);
    for item in document.paths.paths.values_mut() {
        let mut for_all = None;
        for shared in item.parameters.iter_mut().flatten() {
            for_all = for_all.or(parameter::share(shared, components, options.syntax));
        }
        for operation in operations(item) {
            let mut own_key = None;
            for own in operation.parameters.iter_mut().flatten() {
                own_key = own_key.or(parameter::share(own, components, options.syntax));
            }
            if let Some(presence) = own_key.or(for_all) {
                extension::add(operation, presence);
                responses::mark_replays(operation);
                responses::edit(operation, options);
            }
            share_problem(operation, components);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let methods = [
        &mut item.get,
        &mut item.put,
        &mut item.post,
        &mut item.delete,
        &mut item.options,
        &mut item.head,
        &mut item.patch,
        &mut item.trace,
        &mut item.query,
    ];
    let others = item.additional_operations.values_mut();
    methods.into_iter().flatten().chain(others)
}

/// Replaces the problems of the operation's responses by references.
fn share_problem(operation: &mut Operation, components: &mut Components) {
    let problem = ProblemSchema::schema();
    for response in operation.responses.responses.values_mut() {
        let RefOr::T(response) = response else {
            continue;
        };
        let Some(RefOr::T(content)) = response.content.get_mut(Problem::MEDIA_TYPE) else {
            continue;
        };
        if content.schema.as_ref() == Some(&problem) {
            let name = component(components);
            content.schema = Some(Ref::from_schema_name(name).into());
        }
    }
}

/// Returns the component's name, which differs if the document has its own `Problem`.
fn component(components: &mut Components) -> &'static str {
    let problem = ProblemSchema::schema();
    let names = ["Problem", "IdempotencyProblem"];
    let is_free = |name: &&str| {
        let found = components.schemas.get(*name);
        found.is_none_or(|found| *found == problem)
    };
    let name = names.into_iter().find(is_free).unwrap_or("Problem");
    components.schemas.entry(name.to_owned()).or_insert(problem);
    name
}
