//! The names that a parameter's pattern binds.

use syn::{Ident, Pat};

/// Returns the names in the order in which the pattern binds them.
pub(crate) fn names(pat: &Pat) -> Vec<&Ident> {
    let mut names = Vec::new();
    collect(pat, &mut names);
    names
}

fn collect<'p>(pat: &'p Pat, names: &mut Vec<&'p Ident>) {
    match pat {
        Pat::Ident(binding) => {
            names.push(&binding.ident);
            if let Some((_, inner)) = &binding.subpat {
                collect(inner, names);
            }
        }
        Pat::Guard(guard) => collect(&guard.pat, names),
        Pat::Paren(paren) => collect(&paren.pat, names),
        Pat::Reference(reference) => collect(&reference.pat, names),
        Pat::Type(typed) => collect(&typed.pat, names),
        Pat::Slice(slice) => slice.elems.iter().for_each(|pat| collect(pat, names)),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pat| collect(pat, names)),
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|pat| collect(pat, names)),
        Pat::Struct(fields) => fields
            .fields
            .iter()
            .for_each(|field| collect(&field.pat, names)),
        // Every alternative binds the same names.
        Pat::Or(or) => or.cases.iter().take(1).for_each(|pat| collect(pat, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::names;
    use syn::Pat;
    use syn::parse::Parser as _;

    fn bound(pattern: &str) -> String {
        let pat = Pat::parse_single.parse_str(pattern).expect("a pattern");
        let names: Vec<String> = names(&pat).iter().map(ToString::to_string).collect();
        names.join(" ")
    }

    #[test]
    fn every_pattern_yields_the_names_it_binds() {
        for (pattern, expected) in [
            ("cmd", "cmd"),
            ("mut cmd", "cmd"),
            ("_", ""),
            ("_cmd", "_cmd"),
            ("r#type", "r#type"),
            ("Json(cmd)", "cmd"),
            ("Path((a, b))", "a b"),
            ("&(a, ref b)", "a b"),
            ("Cmd { amount, to: payee, .. }", "amount payee"),
            ("whole @ (a, _)", "whole a"),
            ("[a, .., b]", "a b"),
            ("((A(x) | B(x)), y)", "x y"),
        ] {
            assert_eq!(bound(pattern), expected, "for `{pattern}`");
        }
    }
}
