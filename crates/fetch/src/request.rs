//! One request: what is sent on every hop, and how header values are read.

use reqwest::{
    Client, Response,
    header::{self, HeaderMap, HeaderName},
};
use url::Url;

use crate::{Validators, body::ACCEPT_ENCODING};

/// Markdown first: servers that have it save the conversion.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, \
                      text/plain;q=0.8, application/json;q=0.8, */*;q=0.5";

/// A GET without a body, for every hop.
pub(crate) async fn send(
    client: &Client,
    url: &Url,
    validators: Option<&Validators>,
) -> reqwest::Result<Response> {
    let mut request = client
        .get(url.clone())
        .header(header::ACCEPT, ACCEPT)
        .header(header::ACCEPT_ENCODING, ACCEPT_ENCODING);
    if let Some(etag) = validators.and_then(|known| known.etag.as_deref()) {
        request = request.header(header::IF_NONE_MATCH, etag);
    }
    if let Some(date) = validators.and_then(|known| known.last_modified.as_deref()) {
        request = request.header(header::IF_MODIFIED_SINCE, date);
    }
    request.send().await
}

/// A header as text; left out when it is not visible ASCII or longer than any sane one.
pub(crate) fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?.trim();
    (!value.is_empty() && value.len() <= 512).then(|| value.to_owned())
}
