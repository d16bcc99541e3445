//! Turtle and N-Triples, as far as thesauri need them: every triple whose subject and predicate are names. Blank nodes and lists are read
//! and passed over.

use rustc_hash::FxHashMap;

use super::skos::Object;

/// Reads triples; `each` gets subject, predicate and object. An error is the line and what was expected there.
pub(super) fn read(text: &str, mut each: impl FnMut(&str, &str, Object)) -> Result<(), (u64, String)> {
    let mut reader = Reader { text, at: 0, prefixes: FxHashMap::default(), base: String::new() };
    let result = reader.document(&mut each);
    result.map_err(|reason| (1 + text[..reader.at].matches('\n').count() as u64, reason))
}

/// What a term is: a name, a literal, or something without a name.
enum Term {
    Name(String),
    Literal(Object),
    Other,
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    prefixes: FxHashMap<String, String>,
    base: String,
}

type Read<T> = Result<T, String>;

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Passes over blanks and comments; tells the character that comes.
    fn peek(&mut self) -> Option<char> {
        loop {
            let rest = self.rest();
            let c = rest.chars().next()?;
            if c == '#' {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if c.is_whitespace() {
                self.at += c.len_utf8();
            } else {
                return Some(c);
            }
        }
    }

    fn take(&mut self, expected: char) -> Read<()> {
        match self.peek() {
            Some(c) if c == expected => {
                self.at += c.len_utf8();
                Ok(())
            }
            found => Err(format!("expected {expected:?} and found {}", found.map_or("the end".into(), |c| format!("{c:?}")))),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        self.peek();
        let rest = self.rest();
        let same = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        let ends = rest[word.len().min(rest.len())..].chars().next().is_none_or(|c| c.is_whitespace() || c == '<');
        if same && ends {
            self.at += word.len();
        }
        same && ends
    }

    fn document(&mut self, each: &mut dyn FnMut(&str, &str, Object)) -> Read<()> {
        while let Some(c) = self.peek() {
            let at = c == '@';
            self.at += usize::from(at);
            if self.word("prefix") {
                self.peek();
                let rest = self.rest();
                let colon = rest.find(':').ok_or("expected a prefix and a colon")?;
                let prefix = rest[..colon].trim().to_owned();
                self.at += colon + 1;
                let name = self.iri()?;
                self.prefixes.insert(prefix, name);
            } else if self.word("base") {
                self.base = self.iri()?;
            } else if at {
                return Err("expected @prefix or @base".into());
            } else {
                self.triples(each)?;
                self.take('.')?;
                continue;
            }
            if at {
                self.take('.')?;
            }
        }
        Ok(())
    }

    fn triples(&mut self, each: &mut dyn FnMut(&str, &str, Object)) -> Read<()> {
        let subject = match self.term(each)? {
            Term::Name(name) => Some(name),
            Term::Other => None,
            Term::Literal(_) => return Err("a literal cannot be the subject".into()),
        };
        self.said_of(subject.as_deref(), each)
    }

    /// Predicates and objects, up to the end of the sentence or of the bracket.
    fn said_of(&mut self, subject: Option<&str>, each: &mut dyn FnMut(&str, &str, Object)) -> Read<()> {
        loop {
            match self.peek() {
                Some('.' | ']') | None => return Ok(()),
                Some(';') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => {}
            }
            let rest = self.rest();
            let predicate = if rest.starts_with('a') && rest[1..].starts_with(|c: char| c.is_whitespace() || c == '<') {
                self.at += 1;
                super::skos::TYPE.to_owned()
            } else {
                match self.term(each)? {
                    Term::Name(name) => name,
                    _ => return Err("expected the name of a property".into()),
                }
            };
            loop {
                let object = match self.term(each)? {
                    Term::Name(name) => Some(Object::Name(name)),
                    Term::Literal(literal) => Some(literal),
                    Term::Other => None,
                };
                if let (Some(subject), Some(object)) = (subject, object) {
                    each(subject, &predicate, object);
                }
                if self.peek() != Some(',') {
                    break;
                }
                self.at += 1;
            }
        }
    }

    fn term(&mut self, each: &mut dyn FnMut(&str, &str, Object)) -> Read<Term> {
        match self.peek().ok_or("the text ends within a sentence")? {
            '<' => self.iri().map(Term::Name),
            '"' | '\'' => self.literal().map(Term::Literal),
            '[' => {
                self.at += 1;
                self.said_of(None, each)?;
                self.take(']')?;
                Ok(Term::Other)
            }
            '(' => {
                self.at += 1;
                while self.peek().ok_or("a list does not end")? != ')' {
                    self.term(each)?;
                }
                self.at += 1;
                Ok(Term::Other)
            }
            _ => self.prefixed(),
        }
    }

    fn iri(&mut self) -> Read<String> {
        self.take('<')?;
        let rest = self.rest();
        let end = rest.find(['>', '\n']).filter(|&end| rest[end..].starts_with('>')).ok_or("a name in <…> does not end")?;
        let (name, _) = unescaped(&rest[..end])?;
        self.at += end + 1;
        // Without a scheme it is relative; what a thesaurus is relative to is its base, and nothing is resolved beyond that.
        let absolute = name.find(':').is_some_and(|colon| !name[..colon].contains(['/', '#', '?']));
        Ok(if absolute { name } else { format!("{}{name}", self.base) })
    }

    /// A name with a prefix, a blank node, a number or a truth value.
    fn prefixed(&mut self) -> Read<Term> {
        let rest = self.rest();
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.' | '%' | '\\' | '+' | '\u{b7}');
        let mut end = 0;
        let mut escaped = false;
        for c in rest.chars() {
            if !(escaped || inside(c)) {
                break;
            }
            escaped = c == '\\' && !escaped;
            end += c.len_utf8();
        }
        // A dot at the end ends the sentence.
        while rest[..end].ends_with('.') {
            end -= 1;
        }
        let word = rest[..end].to_owned();
        if word.is_empty() {
            return Err(format!("unexpected {:?}", rest.chars().next().unwrap_or(' ')));
        }
        self.at += end;
        if word.starts_with("_:") {
            return Ok(Term::Other);
        }
        match word.split_once(':') {
            Some((prefix, local)) => match self.prefixes.get(prefix) {
                Some(name) => Ok(Term::Name(format!("{name}{}", local.replace('\\', "")))),
                None => Err(format!("the prefix {prefix:?} is not declared")),
            },
            None if word == "true" || word == "false" || word.parse::<f64>().is_ok() => {
                Ok(Term::Literal(Object::Literal { text: word, language: String::new() }))
            }
            None => Err(format!("unexpected {word:?}")),
        }
    }

    fn literal(&mut self) -> Read<Object> {
        let rest = self.rest();
        let quote = rest[..1].to_owned();
        let long = quote.repeat(3);
        let delimiter = if rest.starts_with(&long) { long } else { quote };
        let inner = &rest[delimiter.len()..];
        let mut end = None;
        let mut escaped = false;
        for (at, c) in inner.char_indices() {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if inner[at..].starts_with(&delimiter) {
                end = Some(at);
                break;
            } else if c == '\n' && delimiter.len() == 1 {
                break;
            }
        }
        let end = end.ok_or("a text in quotes does not end")?;
        let (text, _) = unescaped(&inner[..end])?;
        self.at += end + 2 * delimiter.len();
        let mut language = String::new();
        let rest = self.rest();
        if let Some(tag) = rest.strip_prefix('@') {
            let end = tag.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(tag.len());
            language = tag[..end].to_ascii_lowercase();
            self.at += 1 + end;
        } else if rest.starts_with("^^") {
            self.at += 2;
            self.term(&mut |_, _, _| ())?;
        }
        Ok(Object::Literal { text, language })
    }
}

/// Escapes resolved; and whether there were any.
fn unescaped(text: &str) -> Read<(String, bool)> {
    if !text.contains('\\') {
        return Ok((text.to_owned(), false));
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let c = chars.next().ok_or("a backslash at the end")?;
        let digits = match c {
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        if digits > 0 {
            let code: String = chars.by_ref().take(digits).collect();
            let found = u32::from_str_radix(&code, 16).ok().and_then(char::from_u32);
            out.push(found.ok_or_else(|| format!("\\{c}{code} is no character"))?);
            continue;
        }
        out.push(match c {
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            other => other,
        });
    }
    Ok((out, true))
}
