//! Program text with the insides of strings and comments blanked, so that what is left is code.
//!
//! Not a parser: enough of each language's lexical rules to look for words and brackets without
//! being fooled by what is quoted. The result has the same length and the same line ends.
use super::words::is_word;

/// Whose lexical rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    JavaScript,
    Rust,
    Go,
    CSharp,
}

/// Blanks strings (quotes stay) and comments.
pub(super) fn mask(code: &str, syntax: Syntax) -> Vec<u8> {
    let mut masker = Masker { out: code.as_bytes().to_vec(), at: 0, syntax, templates: Vec::new() };
    masker.run();
    masker.out
}

struct Masker {
    out: Vec<u8>,
    at: usize,
    syntax: Syntax,
    /// JavaScript: depth of braces inside each open `${`.
    templates: Vec<usize>,
}

impl Masker {
    fn peek(&self, ahead: usize) -> u8 {
        self.out.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn blank(&mut self, n_bytes: usize) {
        for _ in 0..n_bytes {
            if let Some(byte) = self.out.get_mut(self.at)
                && *byte != b'\n'
            {
                *byte = b' ';
            }
            self.at += 1;
        }
    }

    fn run(&mut self) {
        if self.out.starts_with(b"#!") && self.peek(2) != b'[' {
            self.line_comment();
        }
        let mut previous = 0u8;
        while self.at < self.out.len() {
            let byte = self.peek(0);
            match byte {
                b'/' if self.peek(1) == b'/' => self.line_comment(),
                b'/' if self.peek(1) == b'*' => self.block_comment(),
                b'/' if self.syntax == Syntax::JavaScript && self.regex_may_start(previous) => {
                    self.regex();
                    previous = b'/';
                }
                b'"' => self.double_quoted(previous),
                b'\'' => self.single_quoted(),
                b'`' if self.syntax == Syntax::JavaScript => self.template(),
                b'`' if self.syntax == Syntax::Go => self.until(b"`", false),
                b'r' | b'b' | b'c' if self.syntax == Syntax::Rust && !is_word(previous) => {
                    self.rust_raw();
                }
                b'{' | b'}' => {
                    self.brace(byte);
                }
                _ => self.at += 1,
            }
            if !byte.is_ascii_whitespace() && self.at > 0 {
                let last = self.out[(self.at - 1).min(self.out.len() - 1)];
                if !last.is_ascii_whitespace() {
                    previous = last;
                }
            }
        }
    }

    fn brace(&mut self, byte: u8) {
        self.at += 1;
        let Some(depth) = self.templates.last_mut() else { return };
        if byte == b'{' {
            *depth += 1;
        } else if *depth > 0 {
            *depth -= 1;
        } else {
            self.templates.pop();
            self.template_rest();
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.out.len() && self.peek(0) != b'\n' {
            self.blank(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0usize;
        while self.at < self.out.len() {
            if self.peek(0) == b'/' && self.peek(1) == b'*' {
                if depth == 0 || self.syntax == Syntax::Rust {
                    depth += 1;
                }
                self.blank(2);
            } else if self.peek(0) == b'*' && self.peek(1) == b'/' {
                self.blank(2);
                depth -= 1;
                if depth == 0 {
                    return;
                }
            } else {
                self.blank(1);
            }
        }
    }

    fn double_quoted(&mut self, previous: u8) {
        if self.syntax == Syntax::CSharp {
            if self.peek(1) == b'"' && self.peek(2) == b'"' {
                return self.until(b"\"\"\"", false);
            }
            if previous == b'@' {
                // Verbatim: a doubled quote is one quote, which two strings in a row blank as well.
                return self.until(b"\"", false);
            }
        }
        self.until(b"\"", true);
    }

    /// Skips the opening delimiter, blanks up to the closing one, skips that.
    fn until(&mut self, delimiter: &[u8], escapes: bool) {
        self.at += delimiter.len();
        while self.at < self.out.len() {
            if self.out[self.at..].starts_with(delimiter) {
                self.at += delimiter.len();
                return;
            }
            let escaped = escapes && self.peek(0) == b'\\';
            self.blank(if escaped { 2 } else { 1 });
        }
    }

    fn single_quoted(&mut self) {
        if self.syntax != Syntax::Rust {
            return self.until(b"'", true);
        }
        // A character or a lifetime: a character is closed after one character or an escape.
        let rest = &self.out[self.at + 1..];
        let is_escape = rest.first() == Some(&b'\\');
        let width = rest.first().map_or(1, |&byte| match byte {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        });
        if is_escape || rest.get(width) == Some(&b'\'') {
            self.until(b"'", true);
        } else {
            self.at += 1;
        }
    }

    /// `r"…"`, `r#"…"#`, `br"…"`, `b"…"`, `c"…"`, or just a word that begins with such a letter.
    fn rust_raw(&mut self) {
        let mut letters = 0;
        while matches!(self.peek(letters), b'r' | b'b' | b'c') && letters < 2 {
            letters += 1;
        }
        let raw = self.peek(letters - 1) == b'r';
        let mut hashes = 0;
        while raw && self.peek(letters + hashes) == b'#' {
            hashes += 1;
        }
        if self.peek(letters + hashes) != b'"' {
            // A word (or a raw identifier): past all of it.
            while is_word(self.peek(0)) {
                self.at += 1;
            }
            return;
        }
        self.at += letters + hashes;
        if !raw {
            return self.until(b"\"", true);
        }
        let mut delimiter = vec![b'"'];
        delimiter.resize(1 + hashes, b'#');
        self.at -= hashes;
        self.until(&delimiter, false);
    }

    fn template(&mut self) {
        self.at += 1;
        self.template_rest();
    }

    /// The text of a template up to its end or its next `${`.
    fn template_rest(&mut self) {
        while self.at < self.out.len() {
            match self.peek(0) {
                b'`' => {
                    self.at += 1;
                    return;
                }
                b'$' if self.peek(1) == b'{' => {
                    self.at += 2;
                    self.templates.push(0);
                    return;
                }
                b'\\' => self.blank(2),
                _ => self.blank(1),
            }
        }
    }

    /// After a value a slash divides; elsewhere it begins a regular expression.
    fn regex_may_start(&self, previous: u8) -> bool {
        if is_word(previous) {
            let before = self.out[..self.at].trim_ascii_end();
            let start = before.iter().rposition(|&byte| !is_word(byte)).map_or(0, |at| at + 1);
            return matches!(
                &before[start..],
                b"return"
                    | b"typeof"
                    | b"case"
                    | b"in"
                    | b"of"
                    | b"do"
                    | b"else"
                    | b"void"
                    | b"delete"
                    | b"throw"
                    | b"new"
                    | b"await"
                    | b"yield"
                    | b"instanceof"
            );
        }
        !matches!(previous, b')' | b']' | b'}' | b'"' | b'\'' | b'`')
    }

    fn regex(&mut self) {
        let mut in_class = false;
        let mut look = self.at + 1;
        while let Some(&byte) = self.out.get(look) {
            match byte {
                b'\n' => break,
                b'\\' => look += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    let n_bytes = look - self.at - 1;
                    self.at += 1;
                    self.blank(n_bytes);
                    self.at += 1;
                    return;
                }
                _ => {}
            }
            look += 1;
        }
        // Not closed on its line: a division after all.
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn masked(code: &str, syntax: Syntax) -> String {
        String::from_utf8(mask(code, syntax)).unwrap()
    }

    #[test]
    fn strings_and_comments_are_blanked() {
        for (code, syntax, expected) in [
            ("a // b\nc", Syntax::Go, "a     \nc"),
            ("a /* b */ c", Syntax::Go, "a         c"),
            ("a /* b /* c */ d */ e", Syntax::Rust, "a                   e"),
            ("\"a\\\"b\" c", Syntax::Go, "\"    \" c"),
            ("`a\\` b", Syntax::Go, "`  ` b"),
            ("r#\"a\"b\"# c", Syntax::Rust, "r#\"   \"# c"),
            ("br\"a\" b'x' c\"d\"", Syntax::Rust, "br\" \" b' ' c\" \""),
            ("fn f<'a>(x: &'a str) {}", Syntax::Rust, "fn f<'a>(x: &'a str) {}"),
            ("let r#type = '\\'';", Syntax::Rust, "let r#type = '  ';"),
            ("`a ${b + `c`} d` e", Syntax::JavaScript, "`  ${b + ` `}  ` e"),
            ("`${ {a: 1} } x` y", Syntax::JavaScript, "`${ {a: 1} }  ` y"),
            (
                "x = /await [/] \\/ x/g; a / b / c",
                Syntax::JavaScript,
                "x = /              /g; a / b / c",
            ),
            ("return /a'/.test(x)", Syntax::JavaScript, "return /  /.test(x)"),
            ("@\"a\\\" b \"\"\"c\"d\"\"\" e", Syntax::CSharp, "@\"  \" b \"\"\"   \"\"\" e"),
            ("#!/usr/bin/env node\nx", Syntax::JavaScript, "                   \nx"),
            ("#![allow(x)]", Syntax::Rust, "#![allow(x)]"),
        ] {
            assert_eq!(masked(code, syntax), expected, "{code}");
        }
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_length_and_its_lines(
            code in "[a-c/*'\"`$\\{\\}\\\\#rb!\n \u{e9}\u{4e2d}]{0,60}"
        ) {
            for syntax in [Syntax::JavaScript, Syntax::Rust, Syntax::Go, Syntax::CSharp] {
                let out = mask(&code, syntax);
                prop_assert_eq!(out.len(), code.len());
                let lines = |bytes: &[u8]| bytes.iter().enumerate()
                    .filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect::<Vec<_>>();
                prop_assert_eq!(lines(&out), lines(code.as_bytes()));
            }
        }
    }
}
