//! `allow` and `disallow`: the user's own list of hosts.

use anyhow::anyhow;

use crate::{
    config::Flags,
    network::{Allowed, Entry, Hosts, Reach},
    terminal::{self, Exit, Problem},
    wire::{self, Wired},
};

/// Puts hosts on the list.
pub(crate) fn allow(flags: &Flags, hosts: &[String]) -> Result<Exit, Problem> {
    let hosts = parse(hosts)?;
    for hosts in &hosts {
        if let Hosts::One(host) = hosts
            && let Some(what) = host.out_of_reach()
        {
            return Err(Problem::usage(anyhow!(
                "{host} is {}: nobody can allow it",
                what.describe()
            )));
        }
    }
    let wired = wire::wire(flags)?;
    for hosts in hosts {
        let entry = |refused| Entry { hosts: hosts.clone(), refused };
        let changed = wired.network.list().change(&[entry(true)], &[entry(false)])?;
        let word = if changed { "allowed" } else { "allowed already:" };
        terminal::print(&format!("{word} {hosts}\n"))?;
    }
    if wired.network.reach() == Reach::Off {
        terminal::warn("network.mode is off: programs reach nothing whatever is on the list");
    }
    Ok(Exit::Fine)
}

/// Takes hosts off the list, and refuses those that are allowed all the same.
pub(crate) fn disallow(flags: &Flags, hosts: &[String]) -> Result<Exit, Problem> {
    let hosts = parse(hosts)?;
    let wired = wire::wire(flags)?;
    for hosts in hosts {
        let entry = |refused| Entry { hosts: hosts.clone(), refused };
        let removed = wired.network.list().change(&[entry(false)], &[])?;
        let refused = allowed_all_the_same(&wired, &hosts)?
            && wired.network.list().change(&[], &[entry(true)])?;
        let text = match (removed, refused) {
            (_, true) => format!("refused {hosts}\n"),
            (true, false) => format!("no longer allowed {hosts}\n"),
            (false, false) => format!("not allowed anyway: {hosts}\n"),
        };
        terminal::print(&text)?;
    }
    Ok(Exit::Fine)
}

/// Everything or nothing: what is no host is told before anything is written.
fn parse(hosts: &[String]) -> Result<Vec<Hosts>, Problem> {
    let parsed: anyhow::Result<Vec<_>> = hosts.iter().map(|text| Hosts::parse(text)).collect();
    parsed.map_err(Problem::usage)
}

/// Whether another line of the list, a tool, a remote or the mode allows these hosts.
fn allowed_all_the_same(wired: &Wired, hosts: &Hosts) -> Result<bool, Problem> {
    let network: &Allowed = &wired.network;
    let list = network.list().read()?;
    let by_list = list.entries.iter().any(|entry| !entry.refused && entry.hosts.overlaps(hosts));
    let refused = list.entries.iter().any(|entry| entry.refused && entry.hosts == *hosts);
    if by_list || refused || network.reach() == Reach::On {
        return Ok(!refused);
    }
    let runtime = wire::runtime()?;
    let found = network.found(&wired.root.path, runtime.handle());
    runtime.shutdown_background();
    Ok(found.iter().any(|found| hosts.covers(&found.target)))
}
