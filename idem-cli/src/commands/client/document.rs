//! What of an OpenRPC document a client is made of.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Deserialize)]
pub(super) struct Document {
    pub(super) info: Info,
    pub(super) methods: Vec<Method>,
    #[serde(default)]
    pub(super) components: Components,
}

#[derive(Debug, Deserialize)]
pub(super) struct Info {
    pub(super) title: String,
    pub(super) version: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Components {
    #[serde(default)]
    pub(super) schemas: BTreeMap<String, Value>,
    #[serde(default, rename = "contentDescriptors")]
    descriptors: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Method {
    pub(super) name: String,
    pub(super) summary: Option<String>,
    #[serde(default, rename = "paramStructure")]
    pub(super) structure: Structure,
    pub(super) params: Vec<Content>,
    /// A method without one answers nothing: it is a notification.
    pub(super) result: Option<Content>,
    /// What other generators mark: that, and not where a key belongs.
    #[serde(default)]
    pub(super) idempotent: Value,
    #[serde(rename = "x-idempotency")]
    pub(super) key_use: Option<KeyUse>,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Structure {
    ByName,
    ByPosition,
    #[default]
    Either,
}

/// A parameter or a result, or the reference to one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Reference {
        #[serde(rename = "$ref")]
        reference: String,
    },
    Descriptor(Descriptor),
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Descriptor {
    pub(super) name: String,
    #[serde(default)]
    pub(super) required: bool,
    pub(super) schema: Value,
}

/// `x-idempotency`.
#[derive(Debug, Deserialize)]
#[serde(tag = "key", rename_all = "kebab-case")]
pub(super) enum KeyUse {
    Required { member: String },
    Optional { member: String },
    InRequest,
}

/// Reads a document. The error is a sentence.
pub(super) fn read(text: &str) -> Result<Document, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

impl Document {
    /// Returns a parameter or a result, wherever it stands.
    pub(super) fn descriptor(&self, content: &Content) -> Result<Descriptor, String> {
        let reference = match content {
            Content::Descriptor(descriptor) => return Ok(descriptor.clone()),
            Content::Reference { reference } => reference,
        };
        let name = reference.strip_prefix("#/components/contentDescriptors/");
        let found = name.and_then(|name| self.components.descriptors.get(name));
        let found = found.ok_or_else(|| format!("`{reference}` leads nowhere"))?;
        serde_json::from_value(found.clone()).map_err(|error| format!("`{reference}`: {error}"))
    }
}
