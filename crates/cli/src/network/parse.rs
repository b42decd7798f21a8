//! Addresses in the files of tools, by form. Too few found is a host that the user allows by hand;
//! nothing that is no address of the tool's own kind may be found.

use quietcontext_fetch::{HostPort, Url};

/// How addresses stand in a file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// `key = value`, `key: value` or `key value` lines, values over further indented lines or
    /// `- item` lines; these keys (small letters, the last part of a dotted or scoped one; `*` at
    /// the end stands for any rest).
    Lines(&'static [&'static str]),
    /// TOML; dotted keys, `*` stands for any member.
    Toml(&'static [&'static str]),
    /// JSON; members of this name, wherever they are.
    Json(&'static str),
    /// XML; the text of elements of the second name inside of elements of the first.
    Xml(&'static str, &'static str),
    /// A line of its own without indentation, a host and a colon (`host:`).
    HostKeys,
}

impl Form {
    /// The addresses in `text`, as they stand there.
    pub(super) fn find(self, text: &str) -> Vec<String> {
        match self {
            Self::Lines(keys) => lines(text, keys),
            Self::Toml(keys) => toml(text, keys),
            Self::Json(key) => {
                serde_json::from_str(text).map_or(Vec::new(), |value| json(&value, key))
            }
            Self::Xml(outer, inner) => xml(text, outer, inner),
            Self::HostKeys => host_keys(text),
        }
    }
}

/// Every `http://` or `https://` address in a text.
pub(super) fn urls(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        let (_, from) = rest.split_at(at);
        let end = from
            .find(|c: char| c.is_whitespace() || c.is_control() || "\"'`,|<>()[]{};".contains(c))
            .unwrap_or(from.len());
        let (address, after) = from.split_at(end);
        if address.starts_with("http://") || address.starts_with("https://") {
            found.push(address.to_owned());
        }
        rest = if end == 0 { after.get(4..).unwrap_or_default() } else { after };
    }
    found
}

/// The host and port of an address.
pub(super) fn target(address: &str) -> Option<HostPort> {
    let url = Url::parse(address).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| HostPort::of_url(&url)).flatten()
}

fn lines(text: &str, keys: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut wanted = false;
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if content.starts_with('[') {
            wanted = false;
            continue;
        }
        let goes_on = line.starts_with([' ', '\t']) || content.starts_with("- ");
        let (key, value) = key_and_value(content);
        let here = is_key(key, keys);
        if here || !goes_on {
            wanted = here;
        }
        if wanted {
            found.extend(urls(if here { value } else { content }));
        }
    }
    found
}

/// Cuts at the first `=`, `: `, `:` at the end, or blank.
fn key_and_value(line: &str) -> (&str, &str) {
    let assigned = line.find('=');
    let mapped = line.find(": ").or_else(|| line.ends_with(':').then(|| line.len() - 1));
    let at = match (assigned, mapped) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let at = at.or_else(|| line.find(' '));
    let (key, value) = line.split_at(at.unwrap_or(line.len()));
    (key.trim(), value)
}

fn is_key(key: &str, keys: &[&str]) -> bool {
    let key = key.trim_matches(['"', '\'']).to_ascii_lowercase();
    let last = key.rsplit([':', '.']).next().unwrap_or_default();
    keys.iter().any(|wanted| match wanted.strip_suffix('*') {
        Some(start) => key.starts_with(start),
        None => last == *wanted,
    })
}

fn toml(text: &str, keys: &[&str]) -> Vec<String> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let root = toml::Value::Table(table);
    let mut found = Vec::new();
    for key in keys {
        let mut values = vec![&root];
        for part in key.split('.') {
            values = values
                .into_iter()
                .flat_map(|value| match value {
                    toml::Value::Table(table) => {
                        let named = table.iter().filter(|(name, _)| part == "*" || *name == part);
                        named.map(|(_, value)| value).collect()
                    }
                    toml::Value::Array(items) if part == "*" => items.iter().collect(),
                    _ => Vec::new(),
                })
                .collect();
        }
        found.extend(values.into_iter().filter_map(toml::Value::as_str).flat_map(urls));
    }
    found
}

fn json(value: &serde_json::Value, key: &str) -> Vec<String> {
    match value {
        serde_json::Value::Object(members) => members
            .iter()
            .flat_map(|(name, value)| match value.as_str() {
                Some(text) if name == key => urls(text),
                _ => json(value, key),
            })
            .collect(),
        serde_json::Value::Array(items) => items.iter().flat_map(|item| json(item, key)).collect(),
        _ => Vec::new(),
    }
}

fn xml(text: &str, outer: &str, inner: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let part = |text: &str, name: &str| -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let parts = text.split(&open).skip(1);
        parts.filter_map(|part| part.split_once(&close)).map(|(part, _)| part.to_owned()).collect()
    };
    let inside = part(&plain, outer);
    inside.iter().flat_map(|text| part(text, inner)).flat_map(|text| urls(&text)).collect()
}

fn host_keys(text: &str) -> Vec<String> {
    let hosts = text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '-']));
    let hosts = hosts.filter_map(|line| line.trim_end().strip_suffix(':'));
    hosts.filter(|host| host.contains('.')).map(|host| format!("https://{host}/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_key_in_every_form() {
        let cases: &[(Form, &str, &[&str])] = &[
            (
                Form::Lines(&["registry"]),
                "; registry=https://no.example/\nregistry=https://r.example/npm/\n\
                 @scope:registry = \"https://s.example:8443\"\nproxy=http://p.example/\n\
                 //r.example/:_authToken=https://no.example/\nhttps-proxy=http://p.example\n",
                &["https://r.example/npm/", "https://s.example:8443"],
            ),
            (
                Form::Lines(&["index-url", "extra-index-url"]),
                "[global]\nindex-url = https://i.example/simple\nextra-index-url =\n    \
                 https://e.example/simple\n    http://f.example/simple\nproxy = http://p.example\n\
                 [install]\n   https://no.example\ntimeout = 3\n    https://no.example\n",
                &[
                    "https://i.example/simple",
                    "https://e.example/simple",
                    "http://f.example/simple",
                ],
            ),
            (
                Form::Lines(&["sources"]),
                "---\n:backtrace: false\n:sources:\n- https://g.example/\n- https://h.example\n:ssl: https://no.example\n",
                &["https://g.example/", "https://h.example"],
            ),
            (
                Form::Lines(&["bundle_mirror*"]),
                "---\nBUNDLE_PATH: \"x\"\nBUNDLE_MIRROR__HTTPS://G__EXAMPLE/: \"https://m.example\"\n",
                &["https://m.example"],
            ),
            (
                Form::Lines(&["npmregistryserver"]),
                "npmRegistryServer: \"https://y.example\"\nhttpProxy: \"http://p.example\"\n",
                &["https://y.example"],
            ),
            (
                Form::Lines(&["goproxy"]),
                "GOFLAGS=-mod=mod\nGOPROXY=https://u:p@a.example|https://b.example,direct\n",
                &["https://u:p@a.example", "https://b.example"],
            ),
            (
                Form::Toml(&["source.*.registry", "registries.*.index", "index.*.url"]),
                "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://m.example/i/\"\n\
                 [registries]\nr = { index = \"https://r.example/git\" }\n[http]\nproxy = \"http://p.example\"\n\
                 [[index]]\nurl = \"https://u.example/simple\"\n",
                &["https://m.example/i/", "https://r.example/git", "https://u.example/simple"],
            ),
            (
                Form::Json("url"),
                r#"{"repositories":[{"type":"composer","url":"https://c.example"}],"proxy":"http://p.example"}"#,
                &["https://c.example"],
            ),
            (
                Form::Xml("mirror", "url"),
                "<settings><!-- <mirror><url>https://no.example</url></mirror> --><proxies><proxy><url>http://p.example</url>\
                 </proxy></proxies><mirrors><mirror><id>m</id><url>https://m.example/maven</url></mirror></mirrors></settings>",
                &["https://m.example/maven"],
            ),
            (
                Form::HostKeys,
                "git.example:\n    oauth_token: x\n    host: no.example:\nversion:\n# no.example:\n",
                &["https://git.example/"],
            ),
        ];
        for (form, text, wanted) in cases {
            assert_eq!(form.find(text), *wanted, "{form:?}");
        }
    }

    #[test]
    fn broken_files_give_nothing() {
        for form in [
            Form::Toml(&["a.*"]),
            Form::Json("url"),
            Form::Xml("a", "b"),
            Form::Lines(&["x"]),
            Form::HostKeys,
        ] {
            for text in ["", "\0\u{fffd}", "{", "<a><b>", "[", "= : =\n:", "http", "httphttp://"] {
                assert!(
                    form.find(text).iter().all(|found| target(found).is_none()),
                    "{form:?} {text:?}"
                );
            }
        }
    }

    #[test]
    fn targets_are_hosts_with_their_ports_and_without_users() {
        for (address, wanted) in [
            ("https://u:p@A.example/x", Some("a.example:443")),
            ("http://a.example", Some("a.example:80")),
            ("https://a.example:8443/", Some("a.example:8443")),
            ("https://", None),
            ("ssh://a.example", None),
        ] {
            assert_eq!(target(address).map(|found| found.to_string()).as_deref(), wanted);
        }
    }
}
