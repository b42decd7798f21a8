//! The six tools: raw arguments in, one bounded answer out; the only place that orchestrates the leaves.
//!
//! Reading order: [`Tool`] (what is offered), [`Toolbox`] (one call), then a tool's own module. Every
//! stage consumes the type before it: raw arguments become a request that can only exist if it is
//! consistent, a request becomes an effect, an effect becomes a draft, a draft becomes [`CappedText`].

mod answer;
mod args;
mod batch;
mod budget;
mod call;
mod cause;
mod context;
mod digest;
mod document;
mod error;
mod exec_file;
mod execute;
mod fetch_index;
mod flights;
mod freshness;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod helpers;
mod index;
mod jobs;
mod limits;
mod open;
mod outbound;
mod pages;
mod policy;
mod program;
mod record;
mod reference;
mod render;
mod root;
mod salient;
mod schedule;
mod scripts;
mod search;
mod side_by_side;
mod tool;
mod toolbox;
mod walk;

pub use budget::{ByteBudget, CappedText};
pub use call::{Answer, Call, Progress};
pub use error::ToolError;
pub use jobs::LiveJob;
pub use limits::LIMITS;
pub use outbound::{Outbound, PermitsOf};
pub use record::CallRecord;
pub use reference::{Reference, ReferenceError};
pub use render::{counted, grouped};
pub use tool::{Confinement, INSTRUCTIONS, Tool, ToolSpec};
pub use toolbox::{Stores, Toolbox, ToolboxConfig};
