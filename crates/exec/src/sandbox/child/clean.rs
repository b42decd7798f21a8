//! A configuration file without its credentials: whole lines go, addresses lose their user part.
//!
//! Line by line and by words, for every format of the table (ini, TOML, YAML, npmrc): too much may
//! go, too little must not.

/// A key with one of these in it holds a secret.
const WORDS: &[&str] = &[
    "token",
    "secret",
    "_auth",
    "authtoken",
    "authorization",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "private",
    "cookie",
    "extraheader",
    "session",
    "pass",
];
/// A key that is exactly one of these does as well.
const KEYS: &[&str] = &["key", "auth", "password"];

/// The text without its credentials.
pub(super) fn clean(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut dropped: Option<Dropped> = None;
    let mut section_dropped = false;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        dropped = dropped.and_then(|state| state.over(line));
        if dropped.is_some() {
            continue;
        }
        if content.starts_with('[') {
            let name = content.to_ascii_lowercase();
            section_dropped = name.starts_with("[credential");
        }
        if section_dropped {
            continue;
        }
        if !content.starts_with('[') && is_secret(content) {
            dropped = Some(Dropped::after(line));
            continue;
        }
        kept.push_str(&without_users(line));
    }
    kept
}

/// A dropped line whose continuation goes as well.
struct Dropped {
    indent: usize,
    quote: Option<&'static str>,
    continues: bool,
}

impl Dropped {
    fn after(line: &str) -> Self {
        let quote = ["\"\"\"", "'''"].into_iter().find(|quote| line.matches(quote).count() == 1);
        Self { indent: indent(line), quote, continues: line.trim_end().ends_with('\\') }
    }

    /// Whether `line` still belongs to it; the state after it then.
    fn over(self, line: &str) -> Option<Self> {
        if let Some(quote) = self.quote {
            let quote = if line.contains(quote) { None } else { Some(quote) };
            return Some(Self { quote, continues: false, ..self });
        }
        if self.continues {
            return Some(Self { continues: line.trim_end().ends_with('\\'), ..self });
        }
        let blank = line.trim().is_empty();
        (!blank && indent(line) > self.indent).then_some(self)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether the line assigns something to a key that names a secret, anywhere in it.
fn is_secret(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    if lower.starts_with('#') || lower.starts_with(';') {
        // Comments hold old tokens often enough.
        return WORDS.iter().any(|word| lower.contains(word));
    }
    let mut rest = lower.as_str();
    while let Some((before, after)) = rest.split_once(['=', ':']) {
        let key: String = before
            .trim_end()
            .trim_end_matches(['"', '\'', ']'])
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
            .collect();
        let key: String = key.chars().rev().collect();
        let last = key.rsplit(['.', ':', '/']).next().unwrap_or_default();
        if KEYS.contains(&last) || WORDS.iter().any(|word| last.contains(word)) {
            return true;
        }
        rest = after;
    }
    // A key without a sign between (`credential helper`): the first word decides.
    let first = lower.split_whitespace().next().unwrap_or_default();
    !lower.contains(['=', ':']) && WORDS.iter().any(|word| first.contains(word))
}

/// The line with `user:password@` removed from every address.
fn without_users(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        let end = after
            .find(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\'' | '?' | '#' | ']'))
            .unwrap_or(after.len());
        let (authority, tail) = after.split_at(end);
        out.push_str(authority.rsplit('@').next().unwrap_or_default());
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_the_rest_stays() {
        let cases = [
            ("[user]\n\tname = A\n\temail = a@b\n", "[user]\n\tname = A\n\temail = a@b\n"),
            (
                "[credential]\n\thelper = store\n[core]\n\tpager = less\n",
                "[core]\n\tpager = less\n",
            ),
            ("[credential \"https://h\"]\n\tusername = u\n", ""),
            (
                "[http]\n\textraHeader = Authorization: Basic Zm9v\n\tproxy = http://p:1\n",
                "[http]\n\tproxy = http://p:1\n",
            ),
            (
                "[url \"https://u:pw@h/\"]\n\tinsteadOf = git@h:\n",
                "[url \"https://h/\"]\n\tinsteadOf = git@h:\n",
            ),
            (
                "registry=https://r.example/\n//r.example/:_authToken=abc\n//r.example/:_password=x\n",
                "registry=https://r.example/\n",
            ),
            ("_auth=abc\nalways-auth=true\n", "always-auth=true\n"),
            (
                "index-url = https://user:pw@mirror.example/simple\n",
                "index-url = https://mirror.example/simple\n",
            ),
            (
                "[registries.corp]\nindex = \"sparse+https://t@i.example/\"\ntoken = \"abc\"\n",
                "[registries.corp]\nindex = \"sparse+https://i.example/\"\n",
            ),
            ("r = { index = \"x\", token = \"abc\" }\nb = 1\n", "b = 1\n"),
            ("token = \"\"\"\nabc\ndef\"\"\"\nb = 1\n", "b = 1\n"),
            ("token = abc\\\n  def\\\nghi\nb = 1\n", "b = 1\n"),
            ("api_key: |\n  abc\n  def\nb: 1\n", "b: 1\n"),
            (":rubygems_api_key: rubygems_abc\n:verbose: true\n", ":verbose: true\n"),
            ("# old token: abc\n# plain\n", "# plain\n"),
            (
                "GOPROXY=https://u:p@proxy.example,direct\nGOFLAGS=-mod=mod\n",
                "GOPROXY=https://proxy.example,direct\nGOFLAGS=-mod=mod\n",
            ),
            ("key = \"-----BEGIN\"\nb = 1", "b = 1"),
        ];
        for (from, want) in cases {
            assert_eq!(clean(from), want, "{from}");
        }
    }
}
