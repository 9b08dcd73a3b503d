//! Reads the facts that only the text of a definition shows: SQLite reports nowhere else how a column is
//! compared, and when a trigger runs.

/// One word of a statement, or one sign.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A keyword or a name, in upper case.
    Word(String),
    /// A quoted name or string, as it stands between the quotes.
    Quoted(String),
    Sign(char),
}

impl Token {
    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(this) if this == word)
    }

    fn names(&self, name: &str) -> bool {
        match self {
            Self::Word(this) | Self::Quoted(this) => this.eq_ignore_ascii_case(name),
            Self::Sign(_) => false,
        }
    }
}

/// Splits a statement that SQLite has accepted, without its comments.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '-' if letters.peek() == Some(&'-') => {
                letters.by_ref().find(|letter| *letter == '\n');
            }
            '/' if letters.peek() == Some(&'*') => {
                letters.next();
                let mut last = ' ';
                letters.by_ref().find(|letter| {
                    let over = last == '*' && *letter == '/';
                    last = *letter;
                    over
                });
            }
            '\'' | '"' | '`' | '[' => {
                let end = if letter == '[' { ']' } else { letter };
                let mut quoted = String::new();
                while let Some(letter) = letters.next() {
                    if letter == end {
                        // A doubled quote stands for itself.
                        if end == ']' || letters.next_if_eq(&end).is_none() {
                            break;
                        }
                    }
                    quoted.push(letter);
                }
                tokens.push(Token::Quoted(quoted));
            }
            _ if is_part_of_a_word(letter) => {
                let mut word = String::from(letter);
                while let Some(letter) = letters.next_if(|letter| is_part_of_a_word(*letter)) {
                    word.push(letter);
                }
                word.make_ascii_uppercase();
                tokens.push(Token::Word(word));
            }
            _ if letter.is_ascii_whitespace() => {}
            _ => tokens.push(Token::Sign(letter)),
        }
    }
    tokens
}

fn is_part_of_a_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '$') || !letter.is_ascii()
}

/// Returns whether a constraint of the table resolves a conflict otherwise than by refusing the row: `REPLACE`
/// would overwrite another attempt's record, `IGNORE` would write none.
pub(super) fn overwrites(table: &str) -> bool {
    tokens(table)
        .windows(3)
        .any(|words| words[0].is("ON") && words[1].is("CONFLICT") && !words[2].is("ABORT"))
}

/// Returns the first of `columns` that is not compared byte for byte.
pub(super) fn collated<'c>(table: &str, columns: &[&'c str]) -> Option<&'c str> {
    let tokens = tokens(table);
    let mut depth = 0_u32;
    let mut column = None;
    let mut begins = false;
    for (n, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(') => {
                depth += 1;
                begins = depth == 1;
                continue;
            }
            Token::Sign(')') => depth = depth.saturating_sub(1),
            Token::Sign(',') if depth == 1 => {
                begins = true;
                continue;
            }
            // A constraint of the table begins with a keyword, which no column's name is.
            _ if begins => column = columns.iter().find(|name| token.names(name)),
            _ if depth == 1 && token.is("COLLATE") => {
                let is_binary = tokens.get(n + 1).is_some_and(|name| name.names("BINARY"));
                if let (Some(column), false) = (column, is_binary) {
                    return Some(column);
                }
            }
            _ => {}
        }
        begins = false;
    }
    None
}

/// Returns whether a trigger runs after its statement. SQLite keeps the text from the trigger's name on.
pub(super) fn runs_after(trigger: &str) -> bool {
    let tokens = tokens(trigger);
    matches!(tokens.as_slice(), [create, keyword, _, when, ..]
        if create.is("CREATE") && keyword.is("TRIGGER") && when.is("AFTER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &["namespace", "scope", "key"];

    #[test]
    fn a_collation_is_found_at_its_column_and_nowhere_else() {
        for (table, found) in [
            ("CREATE TABLE t (key TEXT COLLATE NOCASE)", Some("key")),
            (
                "CREATE TABLE t(namespace TEXT,\"scope\" TEXT collate/**/rtrim)",
                Some("scope"),
            ),
            (
                "CREATE TABLE t (\"KEY\" TEXT COLLATE [nocase] NOT NULL)",
                Some("key"),
            ),
            ("CREATE TABLE t (key TEXT COLLATE binary)", None),
            ("CREATE TABLE t (key TEXT COLLATE \"BINARY\")", None),
            ("CREATE TABLE t (note TEXT COLLATE NOCASE, key TEXT)", None),
            ("CREATE TABLE t (key TEXT, note TEXT COLLATE NOCASE)", None),
            (
                "CREATE TABLE t (key TEXT CHECK (key COLLATE NOCASE <> 'a'))",
                None,
            ),
            (
                "CREATE TABLE t (key TEXT DEFAULT ' COLLATE NOCASE', n) -- COLLATE NOCASE",
                None,
            ),
            (
                "CREATE TABLE t (key TEXT, UNIQUE (key COLLATE NOCASE))",
                None,
            ),
        ] {
            assert_eq!(collated(table, NAMES), found, "{table}");
        }
    }

    #[test]
    fn a_conflict_clause_is_found_however_it_is_written() {
        for (table, found) in [
            ("CREATE TABLE t (key UNIQUE ON CONFLICT REPLACE)", true),
            (
                "CREATE TABLE t (key UNIQUE on--\n/* a */conflict IGNORE)",
                true,
            ),
            ("CREATE TABLE t (key UNIQUE ON CONFLICT ABORT)", false),
            (
                "CREATE TABLE t (key DEFAULT 'it''s ON CONFLICT REPLACE')",
                false,
            ),
        ] {
            assert_eq!(overwrites(table), found, "{table}");
        }
    }

    #[test]
    fn a_trigger_that_does_not_say_when_runs_before() {
        for (trigger, after) in [
            (
                "CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END",
                true,
            ),
            (
                "CREATE TRIGGER \"AFTER\" /* b */ after update OF x ON t BEGIN SELECT 1; END",
                true,
            ),
            (
                "CREATE TRIGGER a BEFORE INSERT ON t BEGIN SELECT 1; END",
                false,
            ),
            (
                "CREATE TRIGGER \"a AFTER\" INSERT ON t BEGIN SELECT 1; END",
                false,
            ),
            (
                "CREATE TRIGGER after INSERT ON t BEGIN SELECT 1; END",
                false,
            ),
            (
                "CREATE TRIGGER a INSTEAD OF INSERT ON t BEGIN SELECT 1; END",
                false,
            ),
        ] {
            assert_eq!(runs_after(trigger), after, "{trigger}");
        }
    }
}
