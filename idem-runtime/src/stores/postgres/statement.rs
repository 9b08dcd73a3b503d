//! A statement with values, sent in the way that the connection's statements allow.
//!
//! If the connection keeps statements, this one is prepared once under a name. If it keeps none, as behind a
//! pooler in transaction mode, the statement is one message with the values in its text. sqlx would prepare it
//! without a name and ask for the answer in a second message. Outside a transaction the pooler may send that
//! message to another server connection, which knows no such statement, or another client's.

use std::sync::Arc;

use sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::{
    Arguments as _, AssertSqlSafe, Connection as _, Error, Executor as _, error::BoxDynError,
};
use uuid::Uuid;

use super::error;
use crate::values::key::hex;

/// A statement. `$1`, `$2` and so on stand for the values, in the order in which they are bound.
///
/// A text is sent as bytes either way, and the server decodes it. The encoding in which a session reads its
/// client's text is a setting (`client_encoding`): otherwise two sessions would store one key as two.
pub(super) struct Statement {
    text: Text,
    /// The text in the places of the values, unless it is in the statement's text already.
    placeholders: Vec<String>,
    /// The values themselves, if they are sent beside the text.
    arguments: Option<Result<PgArguments, BoxDynError>>,
}

/// The text of a statement.
enum Text {
    /// `$1` and so on are still to be replaced, by placeholders or values.
    Template(String),
    /// The text as it is sent, kept by its table.
    Kept(Arc<str>),
}

impl Statement {
    pub(super) fn new(text: String, named: bool) -> Self {
        Self {
            text: Text::Template(text),
            placeholders: Vec::new(),
            arguments: named.then(|| Ok(PgArguments::default())),
        }
    }

    /// A statement that is prepared under a name and whose text is sent as it is. A text value is bound as
    /// bytes: its placeholder must decode it.
    pub(super) fn kept(text: Arc<str>) -> Self {
        Self {
            text: Text::Kept(text),
            placeholders: Vec::new(),
            arguments: Some(Ok(PgArguments::default())),
        }
    }

    pub(super) fn bind(mut self, value: impl Value) -> Self {
        let Some(arguments) = &mut self.arguments else {
            self.placeholders.push(value.literal());
            return self;
        };
        if let Text::Template(_) = self.text {
            let placeholder = value.placeholder(self.placeholders.len() + 1);
            self.placeholders.push(placeholder);
        }
        if let Ok(list) = arguments
            && let Err(refused) = value.add_to(list)
        {
            *arguments = Err(refused);
        }
        self
    }

    /// Returns the text with the values in it, for a message of several statements. The statement must not be
    /// `named`.
    pub(super) fn into_text(self) -> String {
        match self.text {
            Text::Template(text) => splice(&text, &self.placeholders),
            Text::Kept(text) => String::from(&*text),
        }
    }

    /// Returns the one row.
    pub(super) async fn fetch_one(self, conn: &mut PgConnection) -> Result<PgRow, Error> {
        let answer = match self.ready() {
            Ready::Named(query) => query.fetch_one(&mut *conn).await,
            Ready::Text(text) => conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await,
        };
        forget_dead(conn, answer).await
    }

    /// Returns all rows.
    pub(super) async fn fetch_all(self, conn: &mut PgConnection) -> Result<Vec<PgRow>, Error> {
        let answer = match self.ready() {
            Ready::Named(query) => query.fetch_all(&mut *conn).await,
            Ready::Text(text) => conn.fetch_all(sqlx::raw_sql(AssertSqlSafe(text))).await,
        };
        forget_dead(conn, answer).await
    }

    pub(super) async fn execute(self, conn: &mut PgConnection) -> Result<PgQueryResult, Error> {
        let answer = match self.ready() {
            Ready::Named(query) => query.execute(&mut *conn).await,
            Ready::Text(text) => conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await,
        };
        forget_dead(conn, answer).await
    }

    fn ready(self) -> Ready {
        let text = match self.text {
            Text::Template(text) => splice(&text, &self.placeholders),
            Text::Kept(text) => {
                let arguments = self.arguments.unwrap_or_else(|| Ok(PgArguments::default()));
                return Ready::Named(sqlx::__query_with_result(AssertSqlSafe(text), arguments));
            }
        };
        match self.arguments {
            Some(arguments) => {
                Ready::Named(sqlx::__query_with_result(AssertSqlSafe(text), arguments))
            }
            None => Ready::Text(text),
        }
    }
}

enum Ready {
    Named(Query<'static, Postgres, PgArguments>),
    Text(String),
}

/// Forgets all statements that the driver keeps for this connection, if the server no longer knows them
/// (`DISCARD ALL`, `DEALLOCATE ALL`) or no longer runs them (a column has another type). Each is prepared anew
/// when it is next used. Otherwise every later call on this connection would fail alike.
async fn forget_dead<T>(conn: &mut PgConnection, answer: Result<T, Error>) -> Result<T, Error> {
    if let Err(error) = &answer
        && error::is_dead_statement(error)
    {
        // If the connection fails here, its next use fails too.
        let _ = conn.clear_cached_statements().await;
    }
    answer
}

/// Puts the values in the places of `$1`, `$2` and so on. The text is the library's own and has no other dollar
/// sign.
fn splice(text: &str, literals: &[String]) -> String {
    let mut pieces = text.split('$');
    let mut spliced = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = piece.split_at(digits);
        let literal = number
            .parse()
            .ok()
            .and_then(|number: usize| literals.get(number.checked_sub(1)?));
        match literal {
            Some(literal) => spliced.push_str(literal),
            // The server reports that it knows no such parameter.
            None => spliced.extend(["$", number]),
        }
        spliced.push_str(rest);
    }
    spliced
}

/// A value of a statement.
pub(super) trait Value {
    /// Returns the value as SQL text: integers and hex, which every setting of the server reads alike.
    fn literal(&self) -> String;

    /// Returns the placeholder of value number `number`, if the values are sent beside the text.
    fn placeholder(&self, number: usize) -> String {
        format!("${number}")
    }

    /// Adds the value to those that are sent beside the text.
    fn add_to(self, arguments: &mut PgArguments) -> Result<(), BoxDynError>;
}

impl Value for &str {
    fn literal(&self) -> String {
        format!(
            "convert_from({}, 'UTF8')",
            bytes_literal(Some(self.as_bytes()))
        )
    }

    fn placeholder(&self, number: usize) -> String {
        format!("convert_from(${number}, 'UTF8')")
    }

    fn add_to(self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        arguments.add(self.as_bytes())
    }
}

impl Value for String {
    fn literal(&self) -> String {
        self.as_str().literal()
    }

    fn placeholder(&self, number: usize) -> String {
        self.as_str().placeholder(number)
    }

    fn add_to(self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
        self.as_str().add_to(arguments)
    }
}

macro_rules! sent_as_it_is {
    ($($type:ty: |$value:ident| $literal:expr;)*) => {
        $(impl Value for $type {
            fn literal(&self) -> String {
                let $value = *self;
                $literal
            }

            fn add_to(self, arguments: &mut PgArguments) -> Result<(), BoxDynError> {
                arguments.add(self)
            }
        })*
    };
}

sent_as_it_is! {
    i16: |value| format!("({value})::smallint");
    i32: |value| format!("({value})::integer");
    i64: |value| format!("({value})::bigint");
    Uuid: |value| format!("'{}'::uuid", value.hyphenated());
    Option<&[u8]>: |value| bytes_literal(value);
    Option<Uuid>: |value| value.map_or_else(|| "NULL::uuid".to_owned(), |uuid| uuid.literal());
}

fn bytes_literal(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else {
        return "NULL::bytea".to_owned();
    };
    let mut text = String::with_capacity(2 * bytes.len() + 16);
    text.push_str("decode('");
    hex::push_lower(&mut text, bytes);
    text.push_str("', 'hex')");
    text
}

#[cfg(test)]
mod tests {
    use super::{Value as _, splice};

    #[test]
    fn values_stand_in_their_places_and_are_not_read_again() {
        let literals: Vec<_> = (1..=11).map(|n| format!("<{n}$1>")).collect();
        assert_eq!(
            splice("a $1, $11 and $2::int $", &literals),
            "a <1$1>, <11$1> and <2$1>::int $"
        );
        assert_eq!(splice("$0 $12", &literals), "$0 $12");
    }

    #[test]
    fn nothing_but_hex_is_ever_spliced_of_a_text() {
        assert_eq!(
            "'; \\\u{e9}".literal(),
            "convert_from(decode('273b205cc3a9', 'hex'), 'UTF8')"
        );
        assert_eq!(i64::MIN.literal(), "(-9223372036854775808)::bigint");
        assert_eq!(Option::<&[u8]>::None.literal(), "NULL::bytea");
    }
}
