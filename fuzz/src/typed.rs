//! The canonical form of typed values and of a call's parameters.

use idem_runtime::fingerprint::{RequestFields, canonical_json, canonical_text};

use crate::decimal::shortest;
use crate::node::{Node, Source};
use crate::parse::parse;
use crate::tree::{Refusal, Tree};

/// The maximum depth of a value, within the limit of the text reader.
const LEVELS: u8 = 6;

impl Node {
    /// Returns the value's JSON in serde's data model, without the struct fields that are `None`.
    fn tree(&self) -> Result<Tree, Refusal> {
        Ok(match self {
            Self::Unit | Self::None | Self::UnitStruct => Tree::Null,
            Self::Some(node) | Self::NewtypeStruct(node) => node.tree()?,
            Self::Bool(value) => Tree::Bool(*value),
            Self::Signed(value) => Tree::Number(value.to_string()),
            Self::Unsigned(value) => Tree::Number(value.to_string()),
            Self::WideSigned(value) => Tree::Number(value.to_string()),
            Self::WideUnsigned(value) => Tree::Number(value.to_string()),
            Self::Single(value) if value.is_finite() => {
                Tree::Number(shortest(f64::from(*value), |text| {
                    text.parse()
                        .is_ok_and(|read: f32| read.to_bits() == value.to_bits())
                }))
            }
            Self::Double(value) if value.is_finite() => Tree::Number(shortest(*value, |text| {
                text.parse()
                    .is_ok_and(|read: f64| read.to_bits() == value.to_bits())
            })),
            Self::Single(_) | Self::Double(_) => return Err(Refusal::Value),
            Self::Char(c) => Tree::Text(c.to_string()),
            Self::Text(text) | Self::Shown(text) => Tree::Text(text.clone()),
            Self::Bytes(bytes) => {
                let numbers = bytes.iter().map(|byte| Tree::Number(byte.to_string()));
                Tree::Array(numbers.collect())
            }
            Self::UnitVariant(name) => Tree::Text((*name).to_owned()),
            Self::NewtypeVariant(name, node) => variant(name, node.tree()?),
            Self::Sequence(nodes) | Self::Tuple(nodes) | Self::TupleStruct(nodes) => array(nodes)?,
            Self::TupleVariant(name, nodes) => variant(name, array(nodes)?),
            Self::Map(entries) => {
                let mut members = Vec::new();
                for (key, value) in entries {
                    members.push((key.name()?, value.tree()?));
                }
                Tree::Object(members)
            }
            Self::Struct(fields) => object(fields)?,
            Self::StructVariant(name, fields) => variant(name, object(fields)?),
            Self::Raw(text) => parse(text.get().as_bytes())?,
        })
    }

    /// Returns the value as the key of a map.
    fn name(&self) -> Result<String, Refusal> {
        Ok(match self {
            Self::Bool(value) => value.to_string(),
            Self::Signed(value) => value.to_string(),
            Self::Unsigned(value) => value.to_string(),
            Self::WideSigned(value) => value.to_string(),
            Self::WideUnsigned(value) => value.to_string(),
            Self::Char(c) => c.to_string(),
            Self::Text(text) | Self::Shown(text) => text.clone(),
            Self::UnitVariant(name) => (*name).to_owned(),
            Self::Some(node) | Self::NewtypeStruct(node) => node.name()?,
            _ => return Err(Refusal::Value),
        })
    }
}

fn array(nodes: &[Node]) -> Result<Tree, Refusal> {
    let items: Result<_, _> = nodes.iter().map(Node::tree).collect();
    items.map(Tree::Array)
}

fn object(fields: &[(&'static str, Node)]) -> Result<Tree, Refusal> {
    let mut members = Vec::new();
    for (name, node) in fields {
        if !matches!(node, Node::None) {
            members.push(((*name).to_owned(), node.tree()?));
        }
    }
    Ok(Tree::Object(members))
}

fn variant(name: &str, content: Tree) -> Tree {
    Tree::Object(vec![(name.to_owned(), content)])
}

pub(crate) fn law(input: &[u8]) {
    let mut source = Source(input);
    let nodes = [(); 3].map(|()| source.node(LEVELS));
    for node in &nodes {
        let expected = node.tree().and_then(|tree| tree.canonical());
        match (canonical_json(node), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(str::from_utf8(&found), Ok(&*expected), "{node:?}");
                assert_eq!(
                    canonical_text(&found).as_ref(),
                    Ok(&found),
                    "the canonical form of the form differs from it"
                );
            }
            (Err(_), Err(_)) => {}
            (found, expected) => {
                panic!("the library returns {found:?}, but the rules give {expected:?}: {node:?}")
            }
        }
    }
    parameters(&nodes);
}

/// Parameters are the fields of a struct, except that a refused one leaves the others unchanged.
fn parameters(nodes: &[Node; 3]) {
    let mut request = RequestFields::new();
    let mut members = Vec::new();
    for (name, node) in ["b", "", "a"].into_iter().zip(nodes) {
        let tree = node.tree().and_then(|tree| tree.canonical().map(|_| tree));
        let found = match node.option() {
            Some(option) => request.field(name, &option),
            None => request.field(name, node),
        };
        assert_eq!(found.is_ok(), tree.is_ok(), "{found:?}: {node:?}");
        if let Ok(tree) = tree {
            // The name is taken only if its field was kept.
            let again = request.field(name, &1);
            assert_eq!(again.is_err(), !matches!(node, Node::None), "{node:?}");
            let kept = if matches!(node, Node::None) {
                Tree::Number("1".to_owned())
            } else {
                tree
            };
            members.push((name.to_owned(), kept));
        }
    }
    let expected = Tree::Object(members).canonical();
    let found = String::from_utf8(request.into_canonical()).expect("it is text");
    assert_eq!(Ok(found), expected);
}
