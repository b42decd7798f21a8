//! The specifier of a `Bash(…)` rule, and which command texts it means.

/// What a rule denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pattern {
    /// Every command: `Bash`, `Bash()`, `Bash(*)`.
    All,
    /// The text, with `*` for any run of characters; the parts between the stars.
    Text { parts: Vec<String>, boundary: bool },
}

impl Pattern {
    /// Reads a specifier: exact text, `prefix:*`, or text with `*`; `\*` is a star.
    pub(super) fn new(specifier: &str) -> Self {
        let text = specifier.split_whitespace().collect::<Vec<_>>().join(" ");
        // `rm:*` is another way to write `rm *`; behind `/`, `=` and the like no blank is due.
        let (text, boundary) = match text.strip_suffix(":*") {
            Some(prefix) if prefix.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                (format!("{prefix} *"), true)
            }
            Some(prefix) => (format!("{prefix}*"), false),
            None => {
                let boundary = text.ends_with(" *");
                (text, boundary)
            }
        };
        let mut parts = vec![String::new()];
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let escaped = character == '\\' && matches!(characters.peek(), Some('*' | '\\'));
            match (escaped, character) {
                (true, _) => {
                    if let (Some(next), Some(last)) = (characters.next(), parts.last_mut()) {
                        last.push(next);
                    }
                }
                (false, '*') => parts.push(String::new()),
                (false, other) => {
                    if let Some(last) = parts.last_mut() {
                        last.push(other);
                    }
                }
            }
        }
        if parts.iter().all(String::is_empty) { Self::All } else { Self::Text { parts, boundary } }
    }

    /// Whether a command's text is meant.
    pub(super) fn matches(&self, text: &str) -> bool {
        let Self::Text { parts, boundary } = self else { return true };
        if glob(parts, text) {
            return true;
        }
        // `rm *` means `rm` as well.
        *boundary && {
            let mut shorter = parts.clone();
            shorter.pop();
            if let Some(last) = shorter.last_mut() {
                last.truncate(last.trim_end().len());
            }
            glob(&shorter, text)
        }
    }

    /// The program that is denied whatever its arguments are.
    pub(super) fn program(&self) -> Option<&str> {
        let Self::Text { parts, .. } = self else { return None };
        match parts.as_slice() {
            [name, rest] if rest.is_empty() => {
                let name = name.trim_end();
                let plain = |c: char| c.is_alphanumeric() || "._-+/".contains(c);
                (!name.is_empty() && name.chars().all(plain)).then_some(name)
            }
            _ => None,
        }
    }
}

/// Whether `text` is the parts in their order, with anything between them.
fn glob(parts: &[String], text: &str) -> bool {
    let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
    let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
    let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
    for part in middle {
        let Some((_, behind)) = left.split_once(part.as_str()) else { return false };
        left = behind;
    }
    left.ends_with(last.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_the_client_means_by_them() {
        for (specifier, yes, no) in [
            ("npm run build", &["npm run build"][..], &["npm run build:dev", "npm run"][..]),
            ("rm:*", &["rm", "rm x", "rm -rf /"], &["rmdir x", "xrm"]),
            ("rm *", &["rm", "rm x"], &["rmdir x"]),
            ("rm*", &["rm", "rm x", "rmdir x"], &["xrm"]),
            ("git push:*", &["git push", "git push -f"], &["git pushy", "git pull"]),
            ("git * main", &["git push main", "git x y main"], &["git main", "git push mainly"]),
            ("* --force", &["git push --force"], &["git push --forced"]),
            ("curl http://a/:*", &["curl http://a/x"], &["curl http://b/"]),
            ("a * b *", &["a x b", "a x b c"], &["a b"]),
            ("echo \\*", &["echo *"], &["echo x"]),
            ("  rm   -rf  * ", &["rm -rf x"], &["rm -r x"]),
            ("*", &["", "anything"], &[]),
            ("", &["anything"], &[]),
            (":*", &["anything"], &[]),
        ] {
            let pattern = Pattern::new(specifier);
            for text in yes {
                assert!(pattern.matches(text), "{specifier:?} {text:?}");
            }
            for text in no {
                assert!(!pattern.matches(text), "{specifier:?} {text:?}");
            }
        }
    }

    #[test]
    fn only_a_rule_for_every_use_of_a_program_names_it() {
        for (specifier, want) in [
            ("curl:*", Some("curl")),
            ("curl *", Some("curl")),
            ("curl*", Some("curl")),
            ("/usr/bin/curl:*", Some("/usr/bin/curl")),
            ("curl", None),
            ("rm -rf *", None),
            ("* rm", None),
            ("cu*l", None),
            ("*", None),
        ] {
            assert_eq!(Pattern::new(specifier).program(), want, "{specifier}");
        }
    }
}
