//! Why a fetch gave no answer: one line each, naming the step and what it was about.

use std::{error::Error, fmt};

/// Why a fetch gave no answer. [`ToString::to_string`] is one line of at most 512 bytes that may
/// be shown to a model: it never repeats user names, passwords, paths or queries of a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// The text is not a URL.
    #[error("not a URL: {what}")]
    Url {
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another scheme than http or https.
    #[error("only http and https URLs are fetched, not {scheme}:")]
    Scheme {
        /// The scheme, shortened.
        scheme: String,
    },
    /// The URL carries a user name or password.
    #[error("URLs with a user name or password are refused: leave the part before @ out")]
    Credentials,
    /// Fetching is switched off.
    #[error(
        "fetching is off: the operator can set fetch = \"public\" or \"allowlist\" in the user's configuration"
    )]
    Off,
    /// The guard refuses the host or an address of it.
    #[error("refused: {target} {reason}{}", Remedy(remedy.as_deref()))]
    Refused {
        /// `host:port`.
        target: String,
        /// Why, as a clause: `is a loopback address`, `resolves to 10.0.0.1, a private address`.
        reason: String,
        /// What the operator can do, if anything can be done.
        remedy: Option<String>,
    },
    /// The name has no address.
    #[error("no address for {host}")]
    Dns {
        /// The host.
        host: String,
        /// The resolver's error.
        source: Option<std::io::Error>,
    },
    /// No connection.
    #[error("no connection to {target}: {what}")]
    Connect {
        /// `host:port`.
        target: String,
        /// What went wrong.
        what: String,
        /// The client's error.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The TLS handshake or the certificate failed.
    #[error("TLS with {target} failed: {what}")]
    Tls {
        /// `host:port`.
        target: String,
        /// What went wrong.
        what: String,
        /// The client's error.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// A step took too long.
    #[error("timed out: {target} {step}")]
    Timeout {
        /// `host:port`.
        target: String,
        /// The step that did not end.
        step: Step,
    },
    /// Something is bigger than its limit.
    #[error("too large: the {what} exceeds {limit} bytes")]
    TooLarge {
        /// What is too large: `body`, `unpacked body`, `response headers`.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// A redirect that is not followed.
    #[error("redirect not followed: {what}")]
    Redirect {
        /// Why.
        what: String,
    },
    /// The response broke off or breaks the protocol.
    #[error("broken response from {target}: {what}")]
    Broken {
        /// `host:port`.
        target: String,
        /// What is wrong.
        what: String,
        /// The client's error.
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// Content that is not text.
    #[error("not text: {content_type}, nothing indexed")]
    Unsupported {
        /// The type as sent or as recognised.
        content_type: String,
    },
    /// The HTTP client could not be built.
    #[error("the HTTP client could not be set up")]
    Client {
        /// The client's error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The conversion thread could not be started or ended without a result.
    #[error("the page could not be converted: {what}")]
    Convert {
        /// What happened.
        what: &'static str,
    },
}

/// The step of a fetch that did not end in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Name lookup.
    Resolve,
    /// TCP and TLS handshake.
    Connect,
    /// Waiting for the response headers.
    Headers,
    /// Waiting for the next piece of the body.
    Body,
    /// Converting the body to text.
    Convert,
    /// The call's deadline or the total limit.
    Deadline,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Resolve => "(name lookup)",
            Self::Connect => "did not accept the connection",
            Self::Headers => "sent no complete response headers",
            Self::Body => "stopped sending the body",
            Self::Convert => "(converting the page)",
            Self::Deadline => "did not finish before the deadline",
        })
    }
}

/// An optional second half of a message.
struct Remedy<'a>(Option<&'a str>);

impl fmt::Display for Remedy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |text| write!(f, "; {text}"))
    }
}
