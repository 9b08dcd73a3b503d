//! The fields of a query or a form.

use std::borrow::Cow;

use idem_runtime::operate::{OperateError, RecordKey};
use idem_runtime::{IdempotencyKey, Namespace, Scope};

use crate::fault::Fault;

/// The fields of a query or a form, each with its text.
#[derive(Default)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads fields as browsers send them.
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        let owned =
            |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        Self(form_urlencoded::parse(encoded).map(owned).collect())
    }

    /// Returns the text of a field; the empty text if it is not there.
    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value)
    }

    /// Returns the text of a field unless it is blank.
    pub(crate) fn filled(&self, name: &str) -> Option<&str> {
        Some(self.get(name).trim()).filter(|text| !text.is_empty())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// Returns the record that the fields `namespace`, `scope` and `key` name.
    pub(crate) fn record_key(&self) -> Result<RecordKey, Fault> {
        let read = || {
            let namespace = Namespace::new(self.get("namespace"))?;
            let scope = match self.get("scope") {
                "" => Scope::GLOBAL,
                scope => Scope::new(scope)?,
            };
            let key = self.get("key").parse::<IdempotencyKey>()?;
            Ok::<_, OperateError>(RecordKey::new(namespace, scope, &key))
        };
        Ok(read()?)
    }
}

/// Encodes the fields of a query.
pub(crate) fn query<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(fields);
    query.finish()
}
