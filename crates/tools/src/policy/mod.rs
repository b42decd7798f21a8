//! Deny rules of the user's coding client, held as a second line behind the confinement.

mod gate;

pub(crate) use gate::{Authorized, Gate};

/// The deny rules of one workspace root.
#[derive(Debug, Default)]
pub(crate) struct Policy {}
