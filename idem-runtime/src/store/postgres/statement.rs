//! A statement with values, sent in the way that the connection's statements allow.
//!
//! Where statements are kept, it is prepared once under a name. Where they are not, as behind a
//! pooler in transaction mode, it is one message with the values in its text. sqlx would prepare it
//! without a name and ask for the answer by a second message; outside a transaction the pooler may
//! hand that one to another server connection, which knows no such statement, or somebody else's.

use std::fmt::Write as _;

use sqlx::postgres::{PgArguments, PgConnection, PgQueryResult, PgRow, Postgres};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Encode, Error, Executor as _, Type};
use uuid::Uuid;

/// `$1` and on are the values, in the order in which they are bound.
pub(super) enum Statement<'q> {
    Named(Query<'q, Postgres, PgArguments>),
    Spliced { text: String, literals: Vec<String> },
}

impl<'q> Statement<'q> {
    pub(super) fn new(text: String, named: bool) -> Self {
        if named {
            Self::Named(sqlx::query(AssertSqlSafe(text)))
        } else {
            Self::Spliced {
                text,
                literals: Vec::new(),
            }
        }
    }

    pub(super) fn bind<T>(self, value: T) -> Self
    where
        T: Literal + Encode<'q, Postgres> + Type<Postgres> + 'q,
    {
        match self {
            Self::Named(query) => Self::Named(query.bind(value)),
            Self::Spliced { text, mut literals } => {
                literals.push(value.literal());
                Self::Spliced { text, literals }
            }
        }
    }

    /// The one row.
    pub(super) async fn fetch_one(self, conn: &mut PgConnection) -> Result<PgRow, Error> {
        match self {
            Self::Named(query) => query.fetch_one(conn).await,
            Self::Spliced { text, literals } => {
                let text = splice(&text, &literals);
                conn.fetch_one(sqlx::raw_sql(AssertSqlSafe(text))).await
            }
        }
    }

    pub(super) async fn execute(self, conn: &mut PgConnection) -> Result<PgQueryResult, Error> {
        match self {
            Self::Named(query) => query.execute(conn).await,
            Self::Spliced { text, literals } => {
                let text = splice(&text, &literals);
                conn.execute(sqlx::raw_sql(AssertSqlSafe(text))).await
            }
        }
    }
}

/// Puts the values in the places of `$1` and on. The text is the library's own; it has no other
/// dollar sign.
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
            // The server knows no such parameter and says so.
            None => spliced.extend(["$", number]),
        }
        spliced.push_str(rest);
    }
    spliced
}

/// A value as SQL text: integers and hex, for which no setting of the server changes the reading.
pub(super) trait Literal {
    fn literal(&self) -> String;
}

impl Literal for &str {
    fn literal(&self) -> String {
        format!(
            "convert_from({}, 'UTF8')",
            bytes_literal(Some(self.as_bytes()))
        )
    }
}

impl Literal for String {
    fn literal(&self) -> String {
        self.as_str().literal()
    }
}

impl Literal for i16 {
    fn literal(&self) -> String {
        format!("({self})::smallint")
    }
}

impl Literal for i32 {
    fn literal(&self) -> String {
        format!("({self})::integer")
    }
}

impl Literal for i64 {
    fn literal(&self) -> String {
        format!("({self})::bigint")
    }
}

impl Literal for Option<&[u8]> {
    fn literal(&self) -> String {
        bytes_literal(*self)
    }
}

impl Literal for Uuid {
    fn literal(&self) -> String {
        format!("'{}'::uuid", self.hyphenated())
    }
}

impl Literal for Option<Uuid> {
    fn literal(&self) -> String {
        self.map_or_else(|| "NULL::uuid".to_owned(), |uuid| uuid.literal())
    }
}

fn bytes_literal(bytes: Option<&[u8]>) -> String {
    let Some(bytes) = bytes else {
        return "NULL::bytea".to_owned();
    };
    let mut text = String::with_capacity(2 * bytes.len() + 16);
    text.push_str("decode('");
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.push_str("', 'hex')");
    text
}

#[cfg(test)]
mod tests {
    use super::{Literal as _, splice};

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
