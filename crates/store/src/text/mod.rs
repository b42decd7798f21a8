//! From captured bytes to the view: decoding, then cleaning.

use std::borrow::Cow;

use crate::document::View;

/// The view of captured bytes, and how it relates to them.
pub fn clean(bytes: &[u8]) -> (Cow<'_, str>, View) {
    (String::from_utf8_lossy(bytes), View::default())
}
