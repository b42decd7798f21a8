//! Where a redirect leads, if it may be followed: by hand, so that each hop is checked again.

use reqwest::{Response, header};
use url::Url;

use crate::{FetchError, guard};

/// Where a redirect leads, if this is one that can be followed.
pub(crate) fn target(from: &Url, response: &Response) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(header::LOCATION) else { return Ok(None) };
    let refuse = |what: String| FetchError::Redirect { what };
    let location = std::str::from_utf8(location.as_bytes())
        .map_err(|_| refuse("its Location is not text".to_owned()))?;
    let joined = from.join(location).map_err(|_| refuse("its Location is not a URL".to_owned()))?;
    let next = guard::accept(joined).map_err(|error| refuse(error.to_string()))?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(refuse("it leads from https to http".to_owned()));
    }
    Ok(Some(next))
}
