//! The object that a JavaScript or TypeScript module exports, as JSON: cubing.js keeps its definitions in
//! such modules.
//!
//! The reader accepts constants and one exported value, made of objects, lists, numbers, strings, names of
//! earlier constants, `new Array(N).fill(VALUE)`, `LIST.map((_, i) => i)`, and `Object.freeze(VALUE)`.
//! Imports, comments and types are ignored. No code is run: a module that does anything else is an error.

use super::{Fault, MAX_BYTES};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// The largest depth to which objects and lists may be nested.
const MAX_DEPTH: usize = 32;
/// The maximum length of a list created by `new Array`.
const MAX_FILLED: usize = 4096;

/// JSON, and the places of its parts in the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Json {
    pub(super) text: String,
    /// Pairs of an offset in the JSON and an offset in the module, in increasing order of the first.
    places: Vec<(usize, usize)>,
}

impl Json {
    /// Returns the offset in the module of the part that contains an offset in the JSON.
    pub(super) fn place(&self, at: usize) -> usize {
        let next = self.places.partition_point(|&(json, _)| json <= at);
        self.places.get(next.saturating_sub(1)).map_or(0, |&(_, module)| module)
    }

    fn mark(&mut self, module: usize) {
        self.places.push((self.text.len(), module));
    }

    fn append(&mut self, other: &Self, at: usize) -> Result<(), Fault> {
        if (self.text.len() + other.text.len()) as u64 > MAX_BYTES {
            return Err(Fault::syntax(
                at,
                format!("what the module exports is larger than {MAX_BYTES} bytes"),
            ));
        }
        let start = self.text.len();
        self.text.push_str(&other.text);
        self.places.extend(other.places.iter().map(|&(json, module)| (start + json, module)));
        Ok(())
    }
}

/// Returns whether a text is a module and not JSON: its first character, after blanks and comments, is not a
/// brace.
pub(super) fn is_module(text: &str) -> bool {
    let mut reader = Reader::of(text);
    reader.skip_blanks();
    !reader.rest().starts_with('{')
}

/// Returns the object that a module exports.
pub(super) fn exported(text: &str) -> Result<Json, Fault> {
    let mut reader = Reader::of(text);
    reader.skip_blanks();
    if reader.rest().starts_with('[') {
        return Err(reader.unexpected("an object {...}"));
    }
    let mut exported: Option<Json> = None;
    loop {
        reader.skip_blanks();
        if reader.rest().is_empty() {
            let nothing = || Fault::syntax(0, "this is neither JSON nor a module that exports an object");
            return exported.ok_or_else(nothing);
        }
        let start = reader.at;
        for found in reader.statement()?.into_iter().filter(|found| found.text.starts_with('{')) {
            // An object may be exported by its name, and as the default.
            if exported.as_ref().is_some_and(|known| known.text != found.text) {
                let reason = "the module exports more than one object: keep only one of them in the file";
                return Err(Fault::syntax(start, reason));
            }
            exported = Some(found);
        }
    }
}

/// The maximum number of bytes that the constants of a module may use in memory.
const MAX_CONSTANT_BYTES: u64 = 16 * MAX_BYTES;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    constants: HashMap<&'a str, Json>,
    /// The bytes that they use in memory.
    constant_bytes: u64,
}

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Self {
        Self { text, at: 0, constants: HashMap::new(), constant_bytes: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments.
    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            let rest = self.rest();
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            self.at += length;
        }
    }

    fn accept(&mut self, wanted: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn accept_word(&mut self, wanted: &str) -> bool {
        let before = self.at;
        if self.word() == Some(wanted) {
            return true;
        }
        self.at = before;
        false
    }

    fn expect(&mut self, wanted: &str) -> Result<(), Fault> {
        if self.accept(wanted) { Ok(()) } else { Err(self.unexpected(&format!("{wanted:?}"))) }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let found = self.rest().chars().next().map_or("the end".into(), |found| format!("{found:?}"));
        let reason = format!(
            "expected {expected}, found {found}: only objects, lists, numbers, strings and constants can be read from a module; no code is run"
        );
        Fault::syntax(self.at, reason)
    }

    fn word(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        self.at += end;
        (end > 0).then(|| &rest[..end])
    }

    /// Reads one statement, and returns the values that the statement exports.
    fn statement(&mut self) -> Result<Vec<Json>, Fault> {
        if self.accept(";") || self.accept("\"use strict\"") || self.accept("'use strict'") {
            return Ok(Vec::new());
        }
        let start = self.at;
        if self.accept_word("import") || self.accept_word("type") || self.accept_word("interface") {
            self.skip_statement();
            return Ok(Vec::new());
        }
        let is_exported = self.accept_word("export");
        if is_exported && (self.accept_word("type") || self.accept_word("interface")) {
            self.skip_statement();
            return Ok(Vec::new());
        }
        if is_exported && self.accept("{") {
            return self.exported_names();
        }
        let is_one = !is_exported && self.accept("exports.");
        if is_one {
            self.word().ok_or_else(|| self.unexpected("a name"))?;
        }
        let is_module = is_one || !is_exported && self.accept("module.exports");
        if is_module {
            self.expect("=")?;
        }
        if is_module || is_exported && self.accept_word("default") {
            let mut value = Json::default();
            self.value(&mut value, 0)?;
            self.skip_type()?;
            return Ok(vec![value]);
        }
        if !(self.accept_word("const") || self.accept_word("let") || self.accept_word("var")) {
            self.at = start;
            return Err(self.unexpected("'export const NAME = {...}'"));
        }
        let name = self.word().ok_or_else(|| self.unexpected("a name"))?;
        if self.accept(":") {
            self.skip_type_to("=");
        }
        self.expect("=")?;
        let mut value = Json::default();
        self.value(&mut value, 0)?;
        self.skip_type()?;
        self.constant_bytes += (value.text.len() + size_of_val(&value.places[..])) as u64;
        if self.constant_bytes > MAX_CONSTANT_BYTES {
            let reason = format!("the constants of the module take more than {MAX_CONSTANT_BYTES} bytes");
            return Err(Fault::syntax(start, reason));
        }
        self.constants.insert(name, value.clone());
        Ok(if is_exported { vec![value] } else { Vec::new() })
    }

    /// Reads the names of constants after `export {`, up to the brace. Names from other modules have no
    /// values here.
    fn exported_names(&mut self) -> Result<Vec<Json>, Fault> {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        while !self.accept("}") {
            self.skip_blanks();
            let start = self.at;
            names.insert(self.word().ok_or_else(|| self.unexpected("a name or '}'"))?, start);
            if self.accept_word("as") {
                self.word().ok_or_else(|| self.unexpected("a name"))?;
            }
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        if self.accept_word("from") {
            self.skip_statement();
            return Ok(Vec::new());
        }
        let value = |(name, start)| {
            let no_constant = || Fault::syntax(start, format!("{name:?} is not a constant of this module"));
            self.constants.get(name).cloned().ok_or_else(no_constant)
        };
        names.into_iter().map(value).collect()
    }

    /// Skips a statement without values, up to the semicolon outside braces, or to the end of its line.
    fn skip_statement(&mut self) {
        let mut depth = 0_u32;
        for (offset, c) in self.rest().char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                ';' | '\n' if depth == 0 => {
                    self.at += offset + 1;
                    return;
                }
                _ => {}
            }
        }
        self.at = self.text.len();
    }

    /// Skips `as const`, `as NAME` and `satisfies NAME` after a value, and a semicolon.
    fn skip_type(&mut self) -> Result<(), Fault> {
        while self.accept_word("as") || self.accept_word("satisfies") {
            self.word().ok_or_else(|| self.unexpected("a type"))?;
            while self.accept(".") {
                self.word().ok_or_else(|| self.unexpected("a type"))?;
            }
        }
        self.accept(";");
        Ok(())
    }

    fn skip_type_to(&mut self, end: &str) {
        let rest = self.rest();
        self.at += rest.find(end).unwrap_or(rest.len());
    }

    fn value(&mut self, json: &mut Json, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            let reason = format!("objects and lists are nested more than {MAX_DEPTH} deep");
            return Err(Fault::syntax(self.at, reason));
        }
        self.skip_blanks();
        json.mark(self.at);
        match self.rest().chars().next() {
            Some('{') => self.object(json, depth)?,
            Some('[') => self.list(json, depth)?,
            Some('"' | '\'' | '`') => {
                let text = self.string()?;
                json.text.push_str(&quoted(&text));
            }
            Some(c) if c == '-' || c.is_ascii_digit() => self.number(json)?,
            _ => self.named(json, depth)?,
        }
        Ok(())
    }

    fn object(&mut self, json: &mut Json, depth: usize) -> Result<(), Fault> {
        self.expect("{")?;
        json.text.push('{');
        let mut first = true;
        while !self.accept("}") {
            self.skip_blanks();
            let start = self.at;
            let (name, is_word) = match self.rest().chars().next() {
                Some('"' | '\'' | '`') => (self.string()?, false),
                _ => (self.word().ok_or_else(|| self.unexpected("a name or '}'"))?.to_owned(), true),
            };
            if !std::mem::take(&mut first) {
                json.text.push(',');
            }
            json.mark(start);
            json.text.push_str(&quoted(&name));
            json.text.push(':');
            if self.accept(":") {
                self.value(json, depth + 1)?;
            } else if is_word {
                // `{ orientation }` is short for `{ orientation: orientation }`.
                self.at = start;
                json.mark(start);
                self.named(json, depth + 1)?;
            } else {
                return Err(self.unexpected("':'"));
            }
            if !self.accept(",") {
                self.expect("}")?;
                break;
            }
        }
        json.text.push('}');
        Ok(())
    }

    fn list(&mut self, json: &mut Json, depth: usize) -> Result<(), Fault> {
        self.expect("[")?;
        json.text.push('[');
        let mut first = true;
        while !self.accept("]") {
            if !std::mem::take(&mut first) {
                json.text.push(',');
            }
            self.value(json, depth + 1)?;
            if !self.accept(",") {
                self.expect("]")?;
                break;
            }
        }
        json.text.push(']');
        Ok(())
    }

    fn number(&mut self, json: &mut Json) -> Result<(), Fault> {
        let rest = self.rest();
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let end = sign + digits;
        let ends = rest[end..].chars().next().is_none_or(|c| c.is_whitespace() || ",]});/".contains(c));
        if digits == 0 || !ends || digits > 1 && rest[sign..].starts_with('0') {
            return Err(self.unexpected("a whole number"));
        }
        json.text.push_str(&rest[..end]);
        self.at += end;
        Ok(())
    }

    /// Reads the name of a constant, with or without `.map((_, i) => i)`, or `new Array(N).fill(VALUE)`.
    fn named(&mut self, json: &mut Json, depth: usize) -> Result<(), Fault> {
        let start = self.at;
        let word = self.word().ok_or_else(|| self.unexpected("a value"))?;
        match word {
            "true" | "false" | "null" => json.text.push_str(word),
            "Object" => {
                self.expect(".freeze(")?;
                self.value(json, depth + 1)?;
                self.expect(")")?;
            }
            "new" | "Array" => {
                if word == "new" && !self.accept_word("Array") {
                    return Err(self.unexpected("'Array'"));
                }
                self.expect("(")?;
                let length = self.word().and_then(|length| length.parse::<usize>().ok());
                let length = length.filter(|&length| length <= MAX_FILLED);
                let length =
                    length.ok_or_else(|| self.unexpected(&format!("a length up to {MAX_FILLED}")))?;
                self.expect(")")?;
                self.expect(".fill(")?;
                let mut entry = Json::default();
                self.value(&mut entry, depth + 1)?;
                self.expect(")")?;
                json.text.push('[');
                for number in 0..length {
                    if number > 0 {
                        json.text.push(',');
                    }
                    json.append(&entry, start)?;
                }
                json.text.push(']');
            }
            _ => match self.constants.get(word) {
                Some(constant) if self.rest().trim_start().starts_with(".map(") => {
                    let length = serde_json::from_str::<Vec<serde_json::Value>>(&constant.text);
                    self.numbers(json, length.map_or(0, |list| list.len()))?;
                }
                Some(constant) => json.append(constant, start)?,
                None => {
                    let reason = format!(
                        "{word:?} is not a constant of this module: only objects, lists, numbers, strings and constants can be read; no code is run"
                    );
                    return Err(Fault::syntax(start, reason));
                }
            },
        }
        // The value must end here: calls and products are not evaluated.
        self.skip_blanks();
        match self.rest().chars().next() {
            Some('.' | '(' | '[' | '+' | '-' | '*' | '?') => Err(self.unexpected("the end of a value")),
            _ => Ok(()),
        }
    }

    /// Reads `.map((_, i) => i)` after a list of `length` entries, and writes the numbers of the entries.
    fn numbers(&mut self, json: &mut Json, length: usize) -> Result<(), Fault> {
        self.expect(".map(")?;
        self.expect("(")?;
        self.word().ok_or_else(|| self.unexpected("a name"))?;
        self.expect(",")?;
        let number = self.word().ok_or_else(|| self.unexpected("a name"))?;
        self.expect(")")?;
        self.expect("=>")?;
        self.skip_blanks();
        if !self.accept_word(number) {
            return Err(self.unexpected(&format!("{number:?}, the number of an entry")));
        }
        self.expect(")")?;
        let numbers: Vec<String> = (0..length).map(|number| number.to_string()).collect();
        json.text.push_str(&format!("[{}]", numbers.join(",")));
        Ok(())
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut characters = self.rest().char_indices();
        let quote = characters.next().map_or('"', |(_, quote)| quote);
        let mut text = String::new();
        while let Some((offset, c)) = characters.next() {
            match c {
                _ if c == quote => {
                    self.at += offset + 1;
                    return Ok(text);
                }
                '\\' => match characters.next() {
                    Some((_, escaped @ ('\\' | '"' | '\'' | '`' | '/'))) => text.push(escaped),
                    Some((_, 'n')) => text.push('\n'),
                    _ => {
                        return Err(Fault::syntax(
                            start + offset,
                            "the only supported escapes are quotes and \\n",
                        ));
                    }
                },
                '$' if quote == '`' => {
                    return Err(Fault::syntax(start + offset, "template placeholders are not supported"));
                }
                '\n' if quote != '`' => break,
                _ => text.push(c),
            }
        }
        Err(Fault::syntax(start, "this quote is not closed"))
    }
}

/// Returns a text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                write!(quoted, "\\u{:04x}", u32::from(c)).expect("writing to a string cannot fail")
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
