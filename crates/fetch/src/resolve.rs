//! From a name to addresses, behind a trait so that tests bring their own answers.

use std::{future::Future, io, net::IpAddr, pin::Pin};

/// The future a [`Resolve`] answers with.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks up the addresses of a name. Called once per hop, never for IP literals; what it answers
/// is classified and then dialled, so there is no second lookup that could answer differently.
pub trait Resolve: Send + Sync {
    /// All addresses of `host`, in the order to try them.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// The operating system's resolver (`getaddrinfo`, so `/etc/hosts` and local zones count).
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            // The port plays no part in the lookup.
            let found = tokio::net::lookup_host((host, 0)).await?;
            let mut addresses: Vec<IpAddr> = Vec::new();
            for address in found.map(|socket| socket.ip()) {
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
            Ok(addresses)
        })
    }
}
