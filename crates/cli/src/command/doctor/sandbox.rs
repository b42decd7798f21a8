//! Whether programs can be confined here, layer by layer.

use quietcontext_exec::{
    Executor,
    sandbox::{LayerState, Rung},
};

use super::Check;

/// The sandbox as a whole, then its layers.
pub(super) fn checks(executor: &Executor) -> Vec<Check> {
    let assessment = match executor.assessment() {
        Ok(Some(assessment)) => assessment,
        Ok(None) => {
            return vec![
                Check::missing("sandbox", "off by the configuration")
                    .means("programs run unconfined, and every answer says so")
                    .repaired_by(
                        "set sandbox.mode = \"workspace-write\", or leave out --sandbox off",
                    ),
            ];
        }
        Err(error) => {
            return vec![Check::bad("sandbox", error.to_string()).means("no program runs")];
        }
    };
    let said = assessment.standing.announcement.clone().unwrap_or_default();
    let whole = match assessment.standing.rung {
        Some(Rung::Namespaces) => {
            Check::good("sandbox", "every program runs in a box of its own").means(said)
        }
        Some(Rung::Landlock) => {
            Check::missing("sandbox", "programs run with fewer layers").means(said)
        }
        None => Check::bad("sandbox", said)
            .means("execute, exec-file and batch refuse; index, search and fetch-index work"),
    };
    let mut checks = vec![whole];
    for layer in &assessment.layers {
        let meaning = layer.meaning();
        let check = match &layer.state {
            LayerState::Present(how) if how.is_empty() => Check::good(&layer.name, meaning),
            LayerState::Present(how) => Check::good(&layer.name, format!("{meaning} ({how})")),
            LayerState::Missing(why) => {
                Check::missing(&layer.name, why.clone()).means(format!("without it not: {meaning}"))
            }
        };
        checks.push(Check { repair: layer.remedy(), ..check });
    }
    checks
}
