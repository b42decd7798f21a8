//! How text may look where it goes: colours, blocks, width.

use std::io::{self, IsTerminal as _};

/// Columns where the terminal does not say how many it has.
const WIDTH: usize = 100;

/// What a stream can show.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a terminal")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// A person reads it as it comes.
    pub(crate) person: bool,
    /// Lines can be drawn anew.
    pub(crate) drawable: bool,
    /// Colours are wanted.
    pub(crate) colour: bool,
    /// Characters beyond ASCII come out as what they are.
    pub(crate) unicode: bool,
    /// Columns of the terminal.
    pub(crate) width: usize,
}

/// A way to set text off. The terminal's own palette decides how that looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Place,
    Mark,
}

impl Style {
    /// The parameter of the escape sequence (ECMA-48, SGR).
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "0",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "31",
            Self::Place => "36",
            Self::Mark => "1;33",
        }
    }
}

impl Look {
    /// That of standard output.
    pub(crate) fn stdout() -> Self {
        Self::of(io::stdout().is_terminal(), width(&io::stdout()), variable)
    }

    /// That of standard error.
    pub(crate) fn stderr() -> Self {
        Self::of(io::stderr().is_terminal(), width(&io::stderr()), variable)
    }

    /// `NO_COLOR` forbids colours, `CLICOLOR_FORCE` asks for them where nobody seems to look.
    fn of(terminal: bool, width: Option<usize>, variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        let forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name));
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        Self {
            person: terminal,
            drawable: terminal && !dumb,
            colour: set("NO_COLOR").is_none() && (forced || terminal && !dumb),
            unicode: locale.contains("utf-8") || locale.contains("utf8"),
            width: width.unwrap_or(WIDTH).clamp(40, 400),
        }
    }

    /// `text` set off. It must not hold control characters.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.colour || style == Style::Plain || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn width(stream: &impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_people_who_want_them() {
        let colour = |terminal, variables: &[(&str, &str)]| {
            let find = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Look::of(terminal, None, find).colour
        };
        let xterm = ("TERM", "xterm");
        assert!(colour(true, &[xterm]));
        assert!(!colour(false, &[xterm]));
        assert!(!colour(true, &[]) && !colour(true, &[("TERM", "dumb")]));
        assert!(!colour(true, &[xterm, ("NO_COLOR", "1")]));
        assert!(colour(true, &[xterm, ("NO_COLOR", "")]), "an empty variable says nothing");
        assert!(colour(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(!colour(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!colour(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }

    #[test]
    fn the_locale_says_whether_blocks_come_out() {
        for (name, value, wanted) in [
            ("LANG", "C.UTF-8", true),
            ("LC_ALL", "en_GB.utf8", true),
            ("LANG", "C", false),
            ("TERM", "xterm", false),
        ] {
            let find = |asked: &str| (asked == name).then(|| value.to_owned());
            assert_eq!(Look::of(true, None, find).unicode, wanted, "{name}={value}");
        }
    }
}
