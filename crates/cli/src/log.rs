//! The operator's log: lines on standard error, and only when asked for.

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    Layer as _,
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt as _,
};

/// Starts the log of this process. Nothing is set up for a silent one.
pub(crate) fn start(level: LevelFilter) {
    if level != LevelFilter::OFF {
        start_in(level, std::io::stderr);
    }
}

/// Starts the log of this process somewhere else.
pub(crate) fn start_in(
    level: LevelFilter,
    writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static,
) {
    // Only our own crates: the protocol library logs whole messages.
    let ours = Targets::new().with_target("quietcontext", level);
    let lines = fmt::layer().with_writer(writer).with_ansi(false).with_filter(ours);
    let dispatch = tracing::Dispatch::new(tracing_subscriber::registry().with(lines));
    // Fails only where a log was started before, which then goes on.
    let _started = tracing::dispatcher::set_global_default(dispatch);
}
