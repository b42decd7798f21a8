//! Lists, pipelines and compound commands: every place where a command may begin.

use super::here::Pending;
use super::word::Draft;
use super::{COMMANDS, Dialect, Parser, Simple, Stdin, Unclear};

/// Words that end a list where a command could begin.
const ENDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// Words that begin a compound command.
const BEGINNINGS: &[&str] =
    &["{", "if", "while", "until", "for", "select", "case", "[[", "function", "("];
/// Redirections to and from a file or descriptor, longer ones first.
const REDIRECTIONS: &[&str] = &["&>>", "&>", "<&", "<>", "<", ">>", ">&", ">|", ">"];
const CONTROL: Unclear = Unclear("a control structure that does not end");

impl Parser<'_> {
    /// Whether the reserved word stands here, as a word of its own.
    fn keyword(&self, word: &str) -> bool {
        let bash_only = matches!(word, "[[" | "function" | "select" | "coproc" | "time");
        if bash_only && self.dialect == Dialect::Posix {
            return false;
        }
        let here = word.bytes().enumerate().all(|(ahead, byte)| self.look(ahead) == Some(byte));
        let end = self.look(word.len());
        here && (word == "("
            || matches!(
                end,
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>')
            ))
    }

    fn eat_keyword(&mut self, word: &str) -> Result<bool, Unclear> {
        Ok(self.keyword(word) && self.eat(word)?)
    }

    fn expect_keyword(&mut self, word: &str) -> Result<(), Unclear> {
        self.lines()?;
        if self.eat_keyword(word)? { Ok(()) } else { Err(CONTROL) }
    }

    /// Commands up to what ends a list: `)`, `;;`, a reserved word, the end of the text.
    pub(super) fn list(&mut self) -> Result<(), Unclear> {
        loop {
            self.lines()?;
            match self.peek()? {
                None | Some(b')' | b';') => return Ok(()),
                _ if ENDS.iter().any(|end| self.keyword(end)) => return Ok(()),
                _ => {}
            }
            self.pipeline()?;
            self.blanks()?;
            match (self.peek()?, self.look(1)) {
                (Some(b'&'), Some(b'&')) | (Some(b'|'), Some(b'|')) => self.at_two()?,
                (Some(b'&'), _) => self.at += 1,
                (Some(b';'), second) if !matches!(second, Some(b';' | b'&')) => self.at += 1,
                (Some(b'\n'), _) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Goes over an operator of two characters.
    fn at_two(&mut self) -> Result<(), Unclear> {
        for _ in 0..2 {
            self.peek()?;
            self.at += 1;
        }
        Ok(())
    }

    fn pipeline(&mut self) -> Result<(), Unclear> {
        let start = self.at;
        loop {
            self.blanks()?;
            if self.eat_keyword("!")? {
                continue;
            }
            if self.eat_keyword("time")? {
                self.blanks()?;
                while self.eat_keyword("-p")? || self.eat_keyword("--")? {
                    self.blanks()?;
                }
                continue;
            }
            self.deeper(Self::command)?;
            self.blanks()?;
            if self.look(0) != Some(b'|') || self.look(1) == Some(b'|') {
                break;
            }
            self.expect("|")?;
            if self.look(0) == Some(b'&') {
                self.expect("&")?;
            }
            self.lines()?;
        }
        let source = self.src.get(start..self.at).unwrap_or_default();
        self.spend(source.len())?;
        let text = String::from_utf8_lossy(source);
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !text.is_empty() {
            self.script.pipelines.push(text);
        }
        Ok(())
    }

    fn command(&mut self) -> Result<(), Unclear> {
        if self.keyword("(") {
            let arithmetic = self.look(1) == Some(b'(') && self.dialect == Dialect::Bash;
            if !(arithmetic && self.arithmetic()?) {
                self.expect("(")?;
                self.substitution()?;
            }
        } else if self.eat_keyword("{")? {
            self.list()?;
            self.expect_keyword("}")?;
        } else if self.eat_keyword("if")? {
            self.list()?;
            self.expect_keyword("then")?;
            self.list()?;
            while self.eat_keyword("elif")? {
                self.list()?;
                self.expect_keyword("then")?;
                self.list()?;
            }
            if self.eat_keyword("else")? {
                self.list()?;
            }
            self.expect_keyword("fi")?;
        } else if self.eat_keyword("while")? || self.eat_keyword("until")? {
            self.list()?;
            self.body()?;
        } else if self.eat_keyword("for")? || self.eat_keyword("select")? {
            self.each()?;
        } else if self.eat_keyword("case")? {
            self.case()?;
        } else if self.eat_keyword("[[")? {
            self.condition()?;
        } else if self.eat_keyword("function")? {
            self.blanks()?;
            self.word()?.ok_or(CONTROL)?;
            self.blanks()?;
            if self.eat("(")? {
                self.blanks()?;
                self.expect(")")?;
            }
            return self.function();
        } else if self.eat_keyword("coproc")? {
            return self.coprocess();
        } else {
            return self.simple();
        }
        while self.redirection(None)? {}
        Ok(())
    }

    /// The body of a function: any command, in another line perhaps.
    fn function(&mut self) -> Result<(), Unclear> {
        self.lines()?;
        self.deeper(Self::command)
    }

    /// `coproc [NAME] command`.
    fn coprocess(&mut self) -> Result<(), Unclear> {
        self.blanks()?;
        let start = self.at;
        while self.peek()?.is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_') {
            self.at += 1;
        }
        self.blanks()?;
        if !BEGINNINGS.iter().any(|beginning| self.keyword(beginning)) {
            self.at = start;
        }
        self.deeper(Self::command)
    }

    /// `do … done`, or braces.
    fn body(&mut self) -> Result<(), Unclear> {
        self.lines()?;
        let end = if self.eat_keyword("{")? {
            "}"
        } else if self.eat_keyword("do")? {
            "done"
        } else {
            return Err(CONTROL);
        };
        self.list()?;
        self.expect_keyword(end)
    }

    /// `for` and `select`, behind the word.
    fn each(&mut self) -> Result<(), Unclear> {
        self.blanks()?;
        if self.look(0) == Some(b'(') {
            if self.dialect == Dialect::Posix || !self.arithmetic()? {
                return Err(CONTROL);
            }
        } else {
            self.word()?.ok_or(CONTROL)?;
            self.lines()?;
            if self.eat_keyword("in")? {
                loop {
                    self.blanks()?;
                    if self.word()?.is_none() {
                        break;
                    }
                }
            }
        }
        self.blanks()?;
        if self.look(0) == Some(b';') {
            self.expect(";")?;
        }
        self.body()
    }

    fn case(&mut self) -> Result<(), Unclear> {
        self.blanks()?;
        self.word()?.ok_or(CONTROL)?;
        self.expect_keyword("in")?;
        loop {
            self.lines()?;
            if self.eat_keyword("esac")? {
                return Ok(());
            }
            self.eat("(")?;
            loop {
                self.blanks()?;
                self.word()?.ok_or(CONTROL)?;
                self.blanks()?;
                if !self.eat("|")? {
                    break;
                }
            }
            self.expect(")")?;
            self.list()?;
            if !(self.eat(";;&")? || self.eat(";;")? || self.eat(";&")?) {
                return self.expect_keyword("esac");
            }
        }
    }

    /// `[[ … ]]`, behind the first brackets: no commands but in substitutions.
    fn condition(&mut self) -> Result<(), Unclear> {
        let mut seen = Draft::default();
        let mut fresh = true;
        loop {
            let byte = self.peek()?.ok_or(CONTROL)?;
            if fresh && self.eat_keyword("]]")? {
                return Ok(());
            }
            // Whether this is a comment depends on what stands before it.
            if fresh && byte == b'#' {
                return Err(Unclear("a # in a condition"));
            }
            match byte {
                b'\\' => self.at = (self.at + 2).min(self.src.len()),
                b'\'' | b'"' | b'$' | b'`' => {
                    if self.word()?.is_none() {
                        return Err(CONTROL);
                    }
                }
                b'<' | b'>' if self.look(1) == Some(b'(') => self.process(&mut seen)?,
                b';' => return Err(CONTROL),
                _ => self.at += 1,
            }
            fresh = matches!(byte, b' ' | b'\t' | b'\n' | b'(' | b')');
        }
    }

    fn simple(&mut self) -> Result<(), Unclear> {
        let index = self.script.commands.len();
        if index == COMMANDS {
            return Err(Unclear("more commands than can be looked at"));
        }
        self.script.commands.push(Simple {
            assignments: Vec::new(),
            words: Vec::new(),
            stdin: Stdin::Elsewhere,
        });
        let mut redirected = false;
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        loop {
            if self.redirection(Some(index))? {
                redirected = true;
                continue;
            }
            let Some(word) = self.word()? else { break };
            let value = word.value_at(self.dialect);
            let array = value == Some(word.text.len()) && !word.quoted;
            if array && self.dialect == Dialect::Bash && self.look(0) == Some(b'(') {
                self.array()?;
            }
            self.blanks()?;
            if self.look(0) == Some(b'(') {
                if !words.is_empty() || !assignments.is_empty() || redirected || word.expands {
                    return Err(Unclear("a parenthesis in a word"));
                }
                // `name()` begins a function; `@(…)` and its like end in the second line.
                self.expect("(")?;
                self.blanks()?;
                self.expect(")")?;
                return self.function();
            }
            if words.is_empty() && value.is_some() {
                assignments.push(word.finish());
            } else {
                words.push(word.finish());
            }
        }
        if !redirected && words.is_empty() && assignments.is_empty() {
            return Err(Unclear("an operator without a command"));
        }
        if let Some(simple) = self.script.commands.get_mut(index) {
            simple.assignments = assignments;
            simple.words = words;
        }
        Ok(())
    }

    /// `NAME=( … )`, at the parenthesis.
    fn array(&mut self) -> Result<(), Unclear> {
        self.expect("(")?;
        loop {
            self.lines()?;
            if self.eat(")")? {
                return Ok(());
            }
            self.word()?.ok_or(Unclear("an operator in an array"))?;
        }
    }

    /// Goes over one redirection, if there is one; text for `command` is remembered.
    fn redirection(&mut self, command: Option<usize>) -> Result<bool, Unclear> {
        self.blanks()?;
        let digits =
            (0..10).take_while(|n| self.look(*n).is_some_and(|b| b.is_ascii_digit())).count();
        let numbered = digits > 0 && matches!(self.look(digits), Some(b'<' | b'>'));
        let first = if numbered { digits } else { 0 };
        let bash = self.dialect == Dialect::Bash;
        // `<(` begins a word in bash; `&>` is two operators elsewhere.
        let plain = |byte, next| matches!(byte, Some(b'<' | b'>')) && !(bash && next == Some(b'('));
        let both = bash && !numbered && self.look(0) == Some(b'&') && self.look(1) == Some(b'>');
        if !both && !plain(self.look(first), self.look(first + 1)) {
            return Ok(false);
        }
        let standard = !numbered || (digits == 1 && self.look(0) == Some(b'0'));
        for _ in 0..first {
            self.peek()?;
            self.at += 1;
        }
        let command = command.filter(|_| standard);
        if bash && self.eat("<<<")? {
            self.blanks()?;
            let word = self.word()?.ok_or(CONTROL)?.finish();
            self.stdin(command, Stdin::Text(word));
            return Ok(true);
        }
        if self.eat("<<")? {
            let tabs = self.eat("-")?;
            self.blanks()?;
            let start = self.at;
            let word = self.word()?.ok_or(CONTROL)?;
            let source = self.src.get(start..self.at).unwrap_or_default();
            if word.expands || source.contains(&b'$') {
                return Err(Unclear("a delimiter that is not literal"));
            }
            let Draft { text: delimiter, quoted, .. } = word;
            self.pending.push(Pending { delimiter, tabs, quoted, command });
            return Ok(true);
        }
        for operator in REDIRECTIONS {
            if self.eat(operator)? {
                if operator.starts_with('<') {
                    self.stdin(command, Stdin::Elsewhere);
                }
                break;
            }
        }
        self.blanks()?;
        self.word()?.ok_or(Unclear("a redirection without a target"))?;
        Ok(true)
    }

    fn stdin(&mut self, command: Option<usize>, stdin: Stdin) {
        if let Some(simple) = command.and_then(|index| self.script.commands.get_mut(index)) {
            simple.stdin = stdin;
        }
    }
}
