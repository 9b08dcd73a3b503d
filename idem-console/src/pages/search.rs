//! Search by key, or by the hash that events have of a key.

use idem_runtime::operate::{Search, SearchResult, Sought};
use idem_runtime::record::Timestamp;
use maud::{Markup, html};

use super::listing;
use super::text::number;
use crate::answer::Page;
use crate::console::ConsoleDatabase;
use crate::fault::Fault;
use crate::fields::{Fields, query};
use crate::site::Visit;

pub(crate) async fn page<DB: ConsoleDatabase>(visit: Visit<DB>) -> Result<Page, Fault> {
    let fields = &visit.fields;
    let found = match search(fields)? {
        Some(search) => Some(visit.site.operator.search(&search).await?),
        None => None,
    };
    let body = html! {
        h1 { "Search" }
        (form(&visit.base, fields))
        @if let Some(found) = &found { (result(&visit.base, fields, found)) }
    };
    Ok(Page {
        title: "Search",
        place: "/search",
        body,
    })
}

fn search(fields: &Fields) -> Result<Option<Search>, Fault> {
    let Some(text) = fields.filled("q") else {
        return Ok(None);
    };
    let sought = if fields.get("by") == "hash" {
        let is_hash = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hash {
            return Err(Fault::bad("A hash has 12 hexadecimal digits.").mend(
                "Take the field `key` of an event of the log, or search by the key itself.",
            ));
        }
        Sought::Hash(text.to_ascii_lowercase())
    } else {
        Sought::Key(text.to_owned())
    };
    let mut search = Search::new(sought);
    search.namespace = fields.filled("namespace").map(str::to_owned);
    search.scope = if fields.has("global") {
        Some(String::new())
    } else {
        Some(fields.get("scope").to_owned()).filter(|scope| !scope.is_empty())
    };
    if let Some(from) = fields.filled("from") {
        let from = from
            .parse()
            .map_err(|_| Fault::bad("The place to search from is no number."))?;
        search.from = Some(Timestamp::from_micros(from));
    }
    Ok(Some(search))
}

fn form(base: &str, fields: &Fields) -> Markup {
    let by_hash = fields.get("by") == "hash";
    html! {
        form.search method="get" action={ (base) "/search" } role="search" {
            div.field {
                label for="q" { "Key, or hash of a key" }
                input type="search" name="q" id="q" value=(fields.get("q")) required autocomplete="off" spellcheck="false";
            }
            fieldset {
                legend { "Search by" }
                div.choice {
                    input type="radio" name="by" id="by-key" value="key" checked[!by_hash];
                    label for="by-key" { "the key, as the client sent it" }
                }
                div.choice {
                    input type="radio" name="by" id="by-hash" value="hash" checked[by_hash];
                    label for="by-hash" { "its hash: 12 digits, the field " code { "key" } " of an event of the log" }
                }
            }
            div.two {
                div.field {
                    label for="namespace" { "Namespace, if it is known" }
                    input type="text" name="namespace" id="namespace" value=(fields.get("namespace")) autocomplete="off" spellcheck="false";
                }
                div.field {
                    label for="scope" { "Scope, if it is known" }
                    input type="text" name="scope" id="scope" value=(fields.get("scope")) autocomplete="off" spellcheck="false";
                }
            }
            div.choice {
                input type="checkbox" name="global" id="global" value="yes" checked[fields.has("global")];
                label for="global" { "only keys that all callers share, which have no scope" }
            }
            button type="submit" { "Search" }
        }
    }
}

fn result(base: &str, fields: &Fields, found: &SearchResult) -> Markup {
    let further = found.further.map(|from| {
        let from = from.as_micros().to_string();
        let mut all = vec![
            ("q", fields.get("q")),
            ("by", fields.get("by")),
            ("from", &*from),
        ];
        for name in ["namespace", "scope", "global"] {
            all.extend(fields.filled(name).map(|value| (name, value)));
        }
        query(all)
    });
    let count = found.records.len();
    html! {
        section aria-labelledby="found" {
            h2 id="found" {
                @match count { 0 => "No record", 1 => "1 record", _ => { (count) " records" } }
            }
            @if count > 0 { (listing::records(base, "Records found", &found.records)) }
            @if count == 50 { p.hint { "Not more than 50 are shown: name the namespace or the scope." } }
            @if found.examined > 0 {
                p.hint {
                    "No index leads to them: all leases and " (number(found.examined as u64))
                    " ended records at most were examined one by one, those first that are kept longest. \
                     A search by key with its scope needs none of that."
                }
            }
            @if let Some(query) = further {
                p { a.button href={ (base) "/search?" (query) } { "Search further" } }
            }
        }
    }
}
