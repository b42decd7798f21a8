//! A URL to clean text, safely: address guard, HTTP client, charset, HTML to Markdown.
//!
//! The entry points are [`Fetcher::fetch`], and [`proxy::Proxy`] for programs in a box, which dials by
//! the same guard. Nothing here touches the disk, a process or the
//! environment; building a [`Fetcher`] opens nothing, the HTTP client is made on the first use.
//!
//! Rules that hold for every fetch:
//!
//! 1. A URL is parsed once, by the WHATWG parser of the `url` crate, and only its result is used.
//! 2. Every address a name resolves to is classified by [`guard`]; one refused address refuses
//!    the name. The connection is made to a checked address, and the peer is compared afterwards.
//! 3. Redirects are followed by hand, and each hop is a new URL for rules 1 and 2.
//! 4. Time, wire bytes, unpacked bytes, headers, HTML nodes and HTML depth are bounded.

mod body;
mod client;
mod config;
mod connect;
mod content;
mod decode;
mod error;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub mod guard;
mod hosts;
mod html;
mod page;
pub mod proxy;
mod redirect;
mod relay;
mod request;
mod resolve;
mod retry_after;
mod tls;

pub use client::Fetcher;
pub use config::{FetchConfig, HostPort, Limits, Mode};
pub use error::{FetchError, Step};
pub use guard::{Class, parse_url};
pub use html::{Markdown, html_to_markdown};
pub use page::{Outcome, Page, PageKind, Request, Validators};
pub use relay::OutboundProxy;
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use url::Url;
