//! What a type's spelling shows.

use quote::ToTokens as _;
use syn::{GenericArgument, Ident, Lifetime, PathArguments, PathSegment, Token, Type};

/// Returns the type inside invisible groups and parentheses.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        other => other,
    }
}

/// Returns the last segment of a type that is a path.
pub(crate) fn last_segment(ty: &Type) -> Option<&PathSegment> {
    match bare(ty) {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// Returns the name of a type that is a path, without its qualifiers.
pub(crate) fn name(ty: &Type) -> Option<&Ident> {
    last_segment(ty).map(|segment| &segment.ident)
}

pub(crate) fn arguments(segment: &PathSegment) -> impl Iterator<Item = &GenericArgument> {
    match &segment.arguments {
        PathArguments::AngleBracketed(angled) => Some(angled.args.iter()),
        _ => None,
    }
    .into_iter()
    .flatten()
}

pub(crate) fn type_arguments(segment: &PathSegment) -> impl Iterator<Item = &Type> {
    arguments(segment).filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

/// Returns the type behind `&`, if it is `Attempt`.
pub(crate) fn attempt(ty: &Type) -> Option<&Type> {
    match bare(ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            name(&reference.elem).filter(|name| *name == "Attempt")?;
            Some(&reference.elem)
        }
        _ => None,
    }
}

/// Returns the first reference in a type. A stored value that contains one could never be read
/// back.
pub(crate) fn reference(ty: &Type) -> Option<&Type> {
    find(ty, &|ty| matches!(ty, Type::Reference(_)))
}

/// Returns the first part of a type that borrows for less than `'static`.
pub(crate) fn borrow(ty: &Type) -> Option<&Type> {
    let short = |lifetime: &Lifetime| lifetime.ident != "static";
    find(ty, &|ty| match ty {
        Type::Reference(reference) => reference.lifetime.as_ref().is_none_or(short),
        Type::Path(path) => path.path.segments.iter().flat_map(arguments).any(
            |argument| matches!(argument, GenericArgument::Lifetime(lifetime) if short(lifetime)),
        ),
        _ => false,
    })
}

/// Returns the first part of a type that is, by its name, a set without an order.
pub(crate) fn unordered_set(ty: &Type) -> Option<&Type> {
    let is_set = |name: &Ident| {
        let name = name.to_string();
        name.ends_with("HashSet") || name == "DashSet"
    };
    find(ty, &|ty| name(ty).is_some_and(is_set))
}

/// Returns the name of the first part of a type that is, by its name, a pool of connections.
pub(crate) fn pool(ty: &Type) -> Option<&Ident> {
    let is_pool = |name: &Ident| {
        let name = name.to_string();
        matches!(
            &*name,
            "Pool" | "PgPool" | "MySqlPool" | "SqlitePool" | "AnyPool"
        )
    };
    find(ty, &|ty| name(ty).is_some_and(is_pool)).and_then(name)
}

/// Returns the first part of a type that satisfies `kind`, outermost first.
fn find<'t>(ty: &'t Type, kind: &impl Fn(&Type) -> bool) -> Option<&'t Type> {
    if kind(ty) {
        return Some(ty);
    }
    match ty {
        Type::Group(group) => find(&group.elem, kind),
        Type::Paren(paren) => find(&paren.elem, kind),
        Type::Reference(reference) => find(&reference.elem, kind),
        Type::Array(array) => find(&array.elem, kind),
        Type::Slice(slice) => find(&slice.elem, kind),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(|ty| find(ty, kind)),
        // `PhantomData` stores nothing.
        Type::Path(_) if name(ty).is_some_and(|name| name == "PhantomData") => None,
        Type::Path(path) => path
            .path
            .segments
            .iter()
            .flat_map(type_arguments)
            .find_map(|ty| find(ty, kind)),
        _ => None,
    }
}

/// Returns the type with `_` for every `impl Trait`, as a local variable's type allows.
pub(crate) fn inferred(ty: &Type) -> Type {
    let mut ty = ty.clone();
    infer(&mut ty);
    ty
}

/// Returns whether the type contains an `impl Trait`.
pub(crate) fn has_impl_trait(ty: &Type) -> bool {
    infer(&mut ty.clone())
}

fn infer(ty: &mut Type) -> bool {
    match ty {
        Type::ImplTrait(opaque) => {
            let underscore = Token![_](opaque.impl_token.span);
            *ty = Type::Verbatim(underscore.into_token_stream());
            true
        }
        Type::Group(group) => infer(&mut group.elem),
        Type::Paren(paren) => infer(&mut paren.elem),
        Type::Reference(reference) => infer(&mut reference.elem),
        Type::Array(array) => infer(&mut array.elem),
        Type::Slice(slice) => infer(&mut slice.elem),
        Type::Tuple(tuple) => tuple
            .elems
            .iter_mut()
            .fold(false, |any, ty| infer(ty) | any),
        Type::Path(path) => path
            .path
            .segments
            .iter_mut()
            .filter_map(|segment| match &mut segment.arguments {
                PathArguments::AngleBracketed(angled) => Some(angled.args.iter_mut()),
                _ => None,
            })
            .flatten()
            .fold(false, |any, argument| match argument {
                GenericArgument::Type(ty) => infer(ty) | any,
                _ => any,
            }),
        _ => false,
    }
}

/// Returns whether a key parameter is optional, or `None` if its type is not a key.
pub(crate) fn key_shape(ty: &Type) -> Option<KeyShape> {
    match ty {
        Type::Group(group) => key_shape(&group.elem),
        Type::Paren(paren) => key_shape(&paren.elem),
        Type::Reference(reference) => key_shape(&reference.elem),
        Type::Path(_) => {
            let segment = last_segment(ty)?;
            if segment.ident == "IdempotencyKey" {
                return Some(KeyShape::Always);
            }
            if segment.ident != "Option" {
                return None;
            }
            type_arguments(segment)
                .next()
                .and_then(key_shape)
                .map(|_| KeyShape::Optional)
        }
        _ => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyShape {
    Always,
    Optional,
}

#[cfg(test)]
mod tests {
    use super::{KeyShape, attempt, borrow, inferred, key_shape, pool, reference, unordered_set};
    use quote::ToTokens as _;
    use syn::parse_quote;

    #[test]
    fn an_attempt_is_known_by_its_last_segment_behind_a_shared_reference() {
        for ty in [
            parse_quote!(&Attempt),
            parse_quote!(&'_ idem::Attempt),
            parse_quote!((&Attempt)),
        ] {
            assert!(attempt(&ty).is_some());
        }
        for ty in [
            parse_quote!(Attempt),
            parse_quote!(&mut Attempt),
            parse_quote!(&Attempts),
        ] {
            assert!(attempt(&ty).is_none());
        }
    }

    #[test]
    fn a_key_is_known_by_its_last_segment_through_references_options_and_parentheses() {
        use KeyShape::{Always, Optional};
        assert_eq!(key_shape(&parse_quote!(&IdempotencyKey)), Some(Always));
        assert_eq!(key_shape(&parse_quote!(idem::IdempotencyKey)), Some(Always));
        assert_eq!(
            key_shape(&parse_quote!(&'a mut (IdempotencyKey))),
            Some(Always)
        );
        assert_eq!(
            key_shape(&parse_quote!(Option<&IdempotencyKey>)),
            Some(Optional)
        );
        assert_eq!(
            key_shape(&parse_quote!(&std::option::Option<IdempotencyKey>)),
            Some(Optional)
        );
        assert_eq!(key_shape(&parse_quote!(Extension<IdempotencyKey>)), None);
        assert_eq!(key_shape(&parse_quote!(Key)), None);
    }

    #[test]
    fn a_reference_is_found_wherever_it_is_stored() {
        assert!(reference(&parse_quote!(&str)).is_some());
        assert!(reference(&parse_quote!(Vec<Option<(u8, &'a str)>>)).is_some());
        assert!(reference(&parse_quote!([&u8; 3])).is_some());
        assert!(reference(&parse_quote!(Cow<'a, str>)).is_none());
        assert!(reference(&parse_quote!(Vec<PhantomData<&'static u8>>)).is_none());
    }

    #[test]
    fn a_set_without_an_order_is_found_wherever_it_stands() {
        for ty in [
            parse_quote!(HashSet<u8>),
            parse_quote!(&std::collections::HashSet<u8, S>),
            parse_quote!(HashMap<u8, Option<FxHashSet<u8>>>),
            parse_quote!((u8, [DashSet<u8>; 2])),
        ] {
            assert!(unordered_set(&ty).is_some());
        }
        for ty in [
            parse_quote!(HashMap<u8, u8>),
            parse_quote!(BTreeSet<u8>),
            parse_quote!(IndexSet<u8>),
            parse_quote!(PhantomData<HashSet<u8>>),
        ] {
            assert!(unordered_set(&ty).is_none());
        }
    }

    #[test]
    fn a_pool_is_found_behind_references_and_in_what_holds_it() {
        for ty in [
            parse_quote!(PgPool),
            parse_quote!(&sqlx::Pool<Postgres>),
            parse_quote!(Arc<SqlitePool>),
            parse_quote!(Option<&MySqlPool>),
        ] {
            assert!(pool(&ty).is_some());
        }
        for ty in [parse_quote!(Pools), parse_quote!(&PgTransaction<'_>)] {
            assert!(pool(&ty).is_none());
        }
    }

    #[test]
    fn a_borrow_is_whatever_does_not_live_as_long_as_the_program() {
        assert!(borrow(&parse_quote!(&str)).is_some());
        assert!(borrow(&parse_quote!(Option<Cow<'_, str>>)).is_some());
        assert!(borrow(&parse_quote!((u8, &'a str))).is_some());
        assert!(borrow(&parse_quote!(&'static str)).is_none());
        assert!(borrow(&parse_quote!(Cow<'static, str>)).is_none());
        assert!(borrow(&parse_quote!(Arc<Client>)).is_none());
        assert!(borrow(&parse_quote!(Box<dyn Fn(&str)>)).is_none());
    }

    #[test]
    fn an_opaque_type_is_left_to_inference_at_every_depth() {
        let ty = inferred(&parse_quote!(
            Result<(impl Serialize + 'a, Vec<impl Copy>), E>
        ));
        let expected: syn::Type = parse_quote!(Result<(_, Vec<_>), E>);
        assert_eq!(
            ty.to_token_stream().to_string(),
            expected.to_token_stream().to_string()
        );
    }
}
