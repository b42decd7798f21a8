//! Finds the commands of shell text: every one that could run, or an admission that it cannot be told.
//!
//! This is a parser for looking, not for running: it accepts a little more than a shell does and
//! remembers only words, but it never passes over a place where a command may stand. What it does not
//! understand is an error, and an error is a refusal. Text comes from whoever drives the agent, so
//! nesting and work are bounded.

mod expand;
mod grammar;
mod here;
mod word;

#[cfg(test)]
mod tests;

/// Deepest nesting of substitutions and compound commands.
const DEEPEST: usize = 48;
/// Steps for each byte of text, and for any text: looking again is rare, but may be provoked.
const STEPS: (usize, usize) = (32, 1 << 16);

/// Most commands of one text; each is held against every rule.
const COMMANDS: usize = 50_000;

/// Which shell reads the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// bash itself.
    Bash,
    /// `sh`, whichever shell that is: where shells differ, the reading with more commands counts.
    Posix,
}

/// A word with its quotes removed. What the shell puts in by itself stands there as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    /// The shell takes the word as it stands here: nothing to expand, no pattern.
    pub literal: bool,
    /// The word may become several words, or none.
    pub splits: bool,
}

/// Where a command's standard input comes from, as far as it is written beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stdin {
    Elsewhere,
    /// A here-document or a here-string.
    Text(Word),
}

/// A command without control structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// `NAME=value` in front.
    pub assignments: Vec<Word>,
    pub words: Vec<Word>,
    pub stdin: Stdin,
}

/// What shell text holds.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub commands: Vec<Simple>,
    /// Pipelines as written, with blanks made one.
    pub pipelines: Vec<String>,
}

/// Why it cannot be told which commands there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unclear(pub &'static str);

/// The commands of shell text.
pub(super) fn parse(text: &str, dialect: Dialect) -> Result<Script, Unclear> {
    let mut parser = Parser {
        src: text.as_bytes(),
        at: 0,
        depth: 0,
        steps: text.len().saturating_mul(STEPS.0).saturating_add(STEPS.1),
        dialect,
        script: Script::default(),
        pending: Vec::new(),
    };
    parser.whole()?;
    Ok(parser.script)
}

/// A place in the text and what was found before it.
struct Parser<'a> {
    src: &'a [u8],
    at: usize,
    depth: usize,
    /// Work that may still be done.
    steps: usize,
    dialect: Dialect,
    script: Script,
    /// Here-documents whose text begins after the next line end.
    pending: Vec<here::Pending>,
}

impl Parser<'_> {
    /// The whole text is a list of commands.
    fn whole(&mut self) -> Result<(), Unclear> {
        if self.src.contains(&0) {
            return Err(Unclear("a NUL character"));
        }
        self.list()?;
        if self.at < self.src.len() {
            return Err(Unclear("a word where a command ends"));
        }
        if self.pending.is_empty() { Ok(()) } else { Err(Unclear("a here-document without text")) }
    }

    /// A parser over other text that was found in this one; [`Self::join`] takes back what it found.
    fn inner<'b>(&mut self, src: &'b [u8]) -> Result<Parser<'b>, Unclear> {
        self.spend(src.len())?;
        if self.depth >= DEEPEST {
            return Err(Unclear("nesting too deep"));
        }
        Ok(Parser {
            src,
            at: 0,
            depth: self.depth + 1,
            steps: self.steps,
            dialect: self.dialect,
            script: std::mem::take(&mut self.script),
            pending: Vec::new(),
        })
    }

    fn join(&mut self, inner: Parser<'_>) {
        self.steps = inner.steps;
        self.script = inner.script;
    }

    /// Does `work` one level further down.
    fn deeper<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Unclear>,
    ) -> Result<T, Unclear> {
        if self.depth >= DEEPEST {
            return Err(Unclear("nesting too deep"));
        }
        self.depth += 1;
        let outcome = work(self);
        self.depth -= 1;
        outcome
    }

    fn spend(&mut self, steps: usize) -> Result<(), Unclear> {
        self.steps = self.steps.checked_sub(steps).ok_or(Unclear("more than can be looked at"))?;
        Ok(())
    }

    /// The character after `ahead` others, as if lines were joined where a backslash ends them.
    fn look(&self, ahead: usize) -> Option<u8> {
        let mut at = self.at;
        let mut left = ahead;
        loop {
            match (self.src.get(at), self.src.get(at + 1)) {
                (Some(b'\\'), Some(b'\n')) => at += 2,
                (Some(_), _) if left > 0 => {
                    left -= 1;
                    at += 1;
                }
                (byte, _) => return byte.copied(),
            }
        }
    }

    /// The next character; joined lines are behind us then.
    fn peek(&mut self) -> Result<Option<u8>, Unclear> {
        self.spend(1)?;
        while self.src.get(self.at..self.at + 2) == Some(b"\\\n") {
            self.at += 2;
            self.spend(1)?;
        }
        Ok(self.src.get(self.at).copied())
    }

    /// Goes over `text` if it stands here.
    fn eat(&mut self, text: &str) -> Result<bool, Unclear> {
        self.spend(1)?;
        if !text.bytes().enumerate().all(|(ahead, byte)| self.look(ahead) == Some(byte)) {
            return Ok(false);
        }
        for _ in text.bytes() {
            self.peek()?;
            self.at += 1;
        }
        Ok(true)
    }

    fn expect(&mut self, text: &'static str) -> Result<(), Unclear> {
        if self.eat(text)? { Ok(()) } else { Err(Unclear("something that does not end")) }
    }

    /// Goes over blanks and a comment; a word may begin then.
    fn blanks(&mut self) -> Result<(), Unclear> {
        while let Some(b' ' | b'\t') = self.peek()? {
            self.at += 1;
        }
        if self.peek()? == Some(b'#') {
            while self.src.get(self.at).is_some_and(|byte| *byte != b'\n') {
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Goes over blanks, comments and line ends, and the here-documents behind these.
    fn lines(&mut self) -> Result<(), Unclear> {
        loop {
            self.blanks()?;
            if self.peek()? != Some(b'\n') {
                return Ok(());
            }
            self.at += 1;
            self.here_documents()?;
        }
    }
}
