//! A reader of JSON text by RFC 8259, character by character.

use crate::tree::{Refusal, Tree};

/// The maximum depth of arrays and objects.
const LEVELS: usize = 128;

pub(crate) fn parse(json: &[u8]) -> Result<Tree, Refusal> {
    let text = str::from_utf8(json).map_err(|_| Refusal::NotJson)?;
    let mut reader = Reader {
        left: text.chars().rev().collect(),
    };
    reader.space();
    let tree = reader.value(LEVELS)?;
    reader.space();
    if reader.left.is_empty() {
        Ok(tree)
    } else {
        Err(Refusal::NotJson)
    }
}

struct Reader {
    /// The remaining characters, the last one first.
    left: Vec<char>,
}

impl Reader {
    fn look_ahead(&self) -> Option<char> {
        self.left.last().copied()
    }

    fn advance(&mut self) -> Result<char, Refusal> {
        self.left.pop().ok_or(Refusal::NotJson)
    }

    fn expect(&mut self, expected: char) -> Result<(), Refusal> {
        if self.advance()? == expected {
            Ok(())
        } else {
            Err(Refusal::NotJson)
        }
    }

    fn space(&mut self) {
        while matches!(self.look_ahead(), Some(' ' | '\t' | '\n' | '\r')) {
            self.left.pop();
        }
    }

    fn value(&mut self, levels: usize) -> Result<Tree, Refusal> {
        match self.look_ahead() {
            Some('{') if levels > 0 => self.object(levels - 1),
            Some('[') if levels > 0 => self.array(levels - 1),
            Some('"') => self.string().map(Tree::Text),
            Some('-' | '0'..='9') => self.number().map(Tree::Number),
            Some('n') => self.word("null", Tree::Null),
            Some('t') => self.word("true", Tree::Bool(true)),
            Some('f') => self.word("false", Tree::Bool(false)),
            _ => Err(Refusal::NotJson),
        }
    }

    fn word(&mut self, word: &str, tree: Tree) -> Result<Tree, Refusal> {
        for letter in word.chars() {
            self.expect(letter)?;
        }
        Ok(tree)
    }

    fn array(&mut self, levels: usize) -> Result<Tree, Refusal> {
        self.expect('[')?;
        let mut items = Vec::new();
        self.space();
        if self.look_ahead() == Some(']') {
            self.advance()?;
            return Ok(Tree::Array(items));
        }
        loop {
            self.space();
            items.push(self.value(levels)?);
            self.space();
            match self.advance()? {
                ',' => {}
                ']' => return Ok(Tree::Array(items)),
                _ => return Err(Refusal::NotJson),
            }
        }
    }

    fn object(&mut self, levels: usize) -> Result<Tree, Refusal> {
        self.expect('{')?;
        let mut members = Vec::new();
        self.space();
        if self.look_ahead() == Some('}') {
            self.advance()?;
            return Ok(Tree::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.space();
            self.expect(':')?;
            self.space();
            members.push((name, self.value(levels)?));
            self.space();
            match self.advance()? {
                ',' => {}
                '}' => return Ok(Tree::Object(members)),
                _ => return Err(Refusal::NotJson),
            }
        }
    }

    fn string(&mut self) -> Result<String, Refusal> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            match self.advance()? {
                '"' => return Ok(text),
                '\\' => text.push(self.escape()?),
                c if c < ' ' => return Err(Refusal::NotJson),
                c => text.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Refusal> {
        Ok(match self.advance()? {
            '"' => '"',
            '\\' => '\\',
            '/' => '/',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                let mut units = vec![first];
                if (0xd800..0xdc00).contains(&first) {
                    self.expect('\\')?;
                    self.expect('u')?;
                    units.push(self.unit()?);
                }
                let text = String::from_utf16(&units).map_err(|_| Refusal::NotJson)?;
                let mut characters = text.chars();
                match (characters.next(), characters.next()) {
                    (Some(c), None) => c,
                    _ => return Err(Refusal::NotJson),
                }
            }
            _ => return Err(Refusal::NotJson),
        })
    }

    /// Reads four hexadecimal digits.
    fn unit(&mut self) -> Result<u16, Refusal> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.advance()?.to_digit(16).ok_or(Refusal::NotJson)?;
            unit = unit * 16 + digit;
        }
        u16::try_from(unit).map_err(|_| Refusal::NotJson)
    }

    fn number(&mut self) -> Result<String, Refusal> {
        let mut text = String::new();
        if self.look_ahead() == Some('-') {
            text.push(self.advance()?);
        }
        if self.look_ahead() == Some('0') {
            text.push(self.advance()?);
        } else {
            self.digits(&mut text)?;
        }
        if self.look_ahead() == Some('.') {
            text.push(self.advance()?);
            self.digits(&mut text)?;
        }
        if matches!(self.look_ahead(), Some('e' | 'E')) {
            text.push(self.advance()?);
            if matches!(self.look_ahead(), Some('+' | '-')) {
                text.push(self.advance()?);
            }
            self.digits(&mut text)?;
        }
        Ok(text)
    }

    /// Reads at least one digit.
    fn digits(&mut self, text: &mut String) -> Result<(), Refusal> {
        let before = text.len();
        while self.look_ahead().is_some_and(|c| c.is_ascii_digit()) {
            text.push(self.advance()?);
        }
        if text.len() > before {
            Ok(())
        } else {
            Err(Refusal::NotJson)
        }
    }
}
