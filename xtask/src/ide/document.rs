//! The source file in the editor, and the requests about positions in it.

use std::path::Path;

use serde_json::{Value, json};

use super::server::{Server, uri};
use crate::Outcome;

pub(super) struct Document<'s> {
    server: &'s mut Server,
    uri: String,
    text: String,
    version: u64,
}

/// An error that the editor underlines.
#[derive(Debug)]
pub(super) struct Underlined {
    /// The text that is underlined.
    pub(super) at: String,
    pub(super) message: String,
}

impl<'s> Document<'s> {
    /// Opens the file at `path`, which holds `text`.
    pub(super) fn open(server: &'s mut Server, path: &Path, text: String) -> Outcome<Self> {
        let uri = uri(path);
        let item = json!({ "uri": uri, "languageId": "rust", "version": 0, "text": text });
        server.report("textDocument/didOpen", &json!({ "textDocument": item }))?;
        Ok(Self {
            server,
            uri,
            text,
            version: 0,
        })
    }

    /// Replaces the text.
    pub(super) fn set(&mut self, text: String) -> Outcome {
        self.version += 1;
        let params = json!({
            "textDocument": { "uri": self.uri, "version": self.version },
            "contentChanges": [{ "text": text }],
        });
        self.text = text;
        self.server.report("textDocument/didChange", &params)
    }

    /// Returns the names that are offered after this text.
    pub(super) fn completions(&mut self, after: &str) -> Outcome<Vec<String>> {
        let answer = self.request("completion", after)?;
        let items = answer["items"].as_array().or(answer.as_array());
        let names = items.into_iter().flatten().filter_map(|item| {
            let name = item["filterText"].as_str().or(item["label"].as_str())?;
            Some(name.split(['(', ' ']).next()?.to_owned())
        });
        Ok(names.collect())
    }

    /// Returns the hover text of the word at the end of this text.
    pub(super) fn hover(&mut self, after: &str) -> Outcome<String> {
        let answer = self.request("hover", after)?;
        let shown = answer["contents"]["value"].as_str();
        Ok(shown
            .ok_or("rust-analyzer returned no hover text")?
            .to_owned())
    }

    /// Returns the line that defines the word at the end of this text.
    pub(super) fn definition(&mut self, after: &str) -> Outcome<String> {
        let answer = self.request("definition", after)?;
        let location = match &answer {
            Value::Array(places) => places
                .first()
                .ok_or("rust-analyzer returned no definition")?,
            location => location,
        };
        let line = location["range"]["start"]["line"].as_u64();
        let line = self
            .text
            .lines()
            .nth(usize::try_from(line.ok_or("no line")?)?);
        Ok(line
            .ok_or("the definition is outside the file")?
            .trim()
            .to_owned())
    }

    /// Returns the errors that rust-analyzer itself finds.
    pub(super) fn errors(&mut self) -> Outcome<Vec<Underlined>> {
        let params = json!({ "textDocument": { "uri": self.uri } });
        let answer = self.server.request("textDocument/diagnostic", &params)?;
        let all = answer["items"].as_array().ok_or("no diagnostics")?;
        all.iter()
            .filter(|found| found["severity"] == 1)
            .map(|found| {
                Ok(Underlined {
                    at: self.slice(&found["range"])?,
                    message: found["message"].as_str().unwrap_or_default().to_owned(),
                })
            })
            .collect()
    }

    fn request(&mut self, what: &str, after: &str) -> Outcome<Value> {
        let (line, character) = self.end_of(after)?;
        let params = json!({
            "textDocument": { "uri": self.uri },
            "position": { "line": line, "character": character },
        });
        self.server
            .request(&format!("textDocument/{what}"), &params)
    }

    /// Returns the end of the only occurrence of a text. The file is ASCII, so columns are bytes.
    fn end_of(&self, text: &str) -> Outcome<(usize, usize)> {
        let mut found = self.text.match_indices(text);
        let (Some((start, _)), None) = (found.next(), found.next()) else {
            return Err(format!("`{text}` does not occur exactly once").into());
        };
        let before = &self.text[..start + text.len()];
        let line = before.matches('\n').count();
        let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1);
        Ok((line, column))
    }

    fn slice(&self, range: &Value) -> Outcome<String> {
        let offset = |location: &Value| -> Outcome<usize> {
            let line = usize::try_from(location["line"].as_u64().ok_or("no line")?)?;
            let column = usize::try_from(location["character"].as_u64().ok_or("no column")?)?;
            let before: usize = self
                .text
                .split_inclusive('\n')
                .take(line)
                .map(str::len)
                .sum();
            Ok(before + column)
        };
        let (start, end) = (offset(&range["start"])?, offset(&range["end"])?);
        Ok(self
            .text
            .get(start..end)
            .ok_or("the position is in another file")?
            .to_owned())
    }
}
