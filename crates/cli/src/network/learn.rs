//! Asks an allowed index which hosts its files are loaded from.

use std::time::{Duration, Instant};

use quietcontext_fetch::{
    FetchConfig, Fetcher, HostPort, Mode, Outcome, Request, SystemResolver, proxy::Permit,
};
use tokio::runtime::Handle;

use super::{discover::Found, parse, tools::Learn};

/// How long an index may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Hosts that are taken from one index.
const MOST_HOSTS: usize = 8;

/// The hosts that an index names; `None` when it did not answer.
pub(super) fn hosts(index: &Found, how: Learn, runtime: &Handle) -> Option<Vec<HostPort>> {
    let url = url(index, how)?;
    let allow = if index.permit > Permit::Public { vec![index.target.clone()] } else { Vec::new() };
    let config = FetchConfig { mode: Mode::Public, allow, ..FetchConfig::default() };
    let fetcher = Fetcher::new(config, std::sync::Arc::new(SystemResolver));
    let request = Request { url: &url, validators: None, deadline: Instant::now() + PATIENCE };
    let outcome = runtime.block_on(fetcher.fetch(&request)).ok()?;
    let Outcome::Page(page) = outcome else { return None };
    let mut found: Vec<HostPort> = Vec::new();
    for address in addresses(&page.text, how) {
        let target = parse::target(&address).filter(|target| *target != index.target);
        if let Some(target) = target.filter(|target| !found.contains(target)) {
            found.push(target);
        }
    }
    found.truncate(MOST_HOSTS);
    Some(found)
}

/// What is asked for: below the index's address, or where such an index usually is.
fn url(index: &Found, how: Learn) -> Option<String> {
    let (usual, page) = match how {
        Learn::CargoIndex => ("", "config.json"),
        // Every index of this kind serves the tool's own installer.
        Learn::SimplePage => ("simple/", "pip/"),
    };
    let base = index.address.as_ref().map_or_else(
        || {
            let scheme = if index.target.port() == 80 { "http" } else { "https" };
            format!("{scheme}://{}/{usual}", index.target)
        },
        |address| format!("{}/", address.trim_end_matches('/')),
    );
    let mut url = quietcontext_fetch::Url::parse(&(base + page)).ok()?;
    // Credentials are the user's own and not for this.
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    Some(url.into())
}

fn addresses(text: &str, how: Learn) -> Vec<String> {
    match how {
        Learn::CargoIndex => {
            let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
            value.get("dl").and_then(|dl| dl.as_str()).map_or(Vec::new(), parse::urls)
        }
        Learn::SimplePage => parse::urls(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(target: &str, address: Option<&str>) -> Found {
        Found {
            target: HostPort::parse(target).unwrap(),
            tool: String::new(),
            origin: String::new(),
            address: address.map(str::to_owned),
            permit: Permit::Public,
        }
    }

    #[test]
    fn an_index_is_asked_where_it_is_and_without_the_users_password() {
        let index = found("i.example", Some("https://u:p@i.example/cargo/"));
        let asked = url(&index, Learn::CargoIndex).unwrap();
        assert_eq!(asked, "https://i.example/cargo/config.json");
        let index = found("i.example", None);
        assert_eq!(url(&index, Learn::SimplePage).unwrap(), "https://i.example/simple/pip/");
        assert_eq!(url(&index, Learn::CargoIndex).unwrap(), "https://i.example/config.json");
    }

    #[test]
    fn the_hosts_are_those_of_downloads() {
        let text = r#"{"dl":"https://dl.example/{crate}/{version}","api":"https://api.example"}"#;
        assert_eq!(addresses(text, Learn::CargoIndex), ["https://dl.example/"]);
        assert_eq!(addresses("no json", Learn::CargoIndex), [""; 0]);
        let page = "[pip-1.whl](https://files.example/p/pip-1.whl#sha256=ab)";
        assert_eq!(
            addresses(page, Learn::SimplePage),
            ["https://files.example/p/pip-1.whl#sha256=ab"]
        );
    }
}
