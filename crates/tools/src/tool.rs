//! What is offered: six tools, their schemas and hints, and what the server says of itself.

use serde_json::Value;

use crate::args;

/// What the server is for, in at most 240 bytes: clients that defer tools show exactly this.
pub const INSTRUCTIONS: &str = "Runs programs, commands and fetches on this machine, stores all \
output, files and pages in a local full-text index, and answers with short texts plus references \
([r:n]) from which every byte can be read back or searched.";

/// How programs are confined; chosen by the user's configuration, never by a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// No confinement: every answer of a run begins with `[unconfined]`.
    Off,
    /// Programs may write the workspace and a private temporary directory, nothing else.
    WorkspaceWrite,
    /// Programs may write a private temporary directory only and reach no network: the tools that
    /// run them change nothing of the user's, and say so.
    ReadOnly,
}

/// One of the six tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Several commands, one answer.
    Batch,
    /// A program over one file.
    ExecFile,
    /// One program.
    Execute,
    /// Web pages into the store.
    FetchIndex,
    /// Text, files and directories into the store.
    Index,
    /// Questions to the store, and its content by reference.
    Search,
}

impl Tool {
    /// All tools in the order in which they are listed.
    pub const ALL: [Self; 6] =
        [Self::Batch, Self::ExecFile, Self::Execute, Self::FetchIndex, Self::Index, Self::Search];

    /// The published name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::ExecFile => "exec-file",
            Self::Execute => "execute",
            Self::FetchIndex => "fetch-index",
            Self::Index => "index",
            Self::Search => "search",
        }
    }

    /// The tool of that name; some clients turn the hyphen into an underscore.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name.replace('_', "-"))
    }

    /// What is published about this tool under the configured confinement.
    pub fn spec(self, confinement: Confinement) -> ToolSpec {
        let (description, schema) = match self {
            Self::Batch => (args::batch::DESCRIPTION, args::batch::schema()),
            Self::ExecFile => (args::exec_file::DESCRIPTION, args::exec_file::schema()),
            Self::Execute => (args::execute::DESCRIPTION, args::execute::schema()),
            Self::FetchIndex => (args::fetch_index::DESCRIPTION, args::fetch_index::schema()),
            Self::Index => (args::index::DESCRIPTION, args::index::schema()),
            Self::Search => (args::search::DESCRIPTION, args::search::schema()),
        };
        let runs = matches!(self, Self::Batch | Self::ExecFile | Self::Execute);
        let harmless = runs && confinement == Confinement::ReadOnly;
        ToolSpec {
            name: self.name(),
            description,
            schema,
            read_only: self == Self::Search || harmless,
            destructive: runs && !harmless,
            idempotent: self == Self::Index,
            open_world: (runs && !harmless) || self == Self::FetchIndex,
        }
    }
}

/// A tool as it is published.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the protocol's four hints")]
pub struct ToolSpec {
    /// The name.
    pub name: &'static str,
    /// The description; it carries what clients drop from schemas.
    pub description: &'static str,
    /// A flat JSON schema object.
    pub schema: Value,
    /// Does not change the user's files.
    pub read_only: bool,
    /// May change or delete what was there.
    pub destructive: bool,
    /// The same call again changes nothing more.
    pub idempotent: bool,
    /// Reaches beyond this machine.
    pub open_world: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_listed_in_a_fixed_order_and_answer_to_both_spellings() {
        let names: Vec<_> = Tool::ALL.iter().map(|t| t.name()).collect();
        assert_eq!(names, ["batch", "exec-file", "execute", "fetch-index", "index", "search"]);
        assert_eq!(Tool::parse("exec_file"), Some(Tool::ExecFile));
        assert_eq!(Tool::parse("fetch_index"), Some(Tool::FetchIndex));
        assert_eq!(Tool::parse("ctx_search"), None);
    }

    #[test]
    fn instructions_fit_the_line_that_deferring_clients_show() {
        assert!(INSTRUCTIONS.len() <= 240, "{} bytes", INSTRUCTIONS.len());
    }

    /// No keyword that one strict client or another rejects.
    #[test]
    fn schemas_are_flat() {
        fn walk(value: &Value, path: &str) {
            const ALLOWED: [&str; 9] = [
                "type",
                "enum",
                "minimum",
                "maximum",
                "items",
                "required",
                "properties",
                "description",
                "default",
            ];
            let Some(object) = value.as_object() else { return };
            for (key, inner) in object {
                assert!(ALLOWED.contains(&key.as_str()), "{path}: {key}");
                match key.as_str() {
                    "properties" => {
                        for (name, schema) in inner.as_object().into_iter().flatten() {
                            walk(schema, &format!("{path}.{name}"));
                        }
                    }
                    "items" => walk(inner, &format!("{path}[]")),
                    "type" => assert!(inner.is_string(), "{path}: nullable union"),
                    _ => {}
                }
            }
        }
        for tool in Tool::ALL {
            walk(&tool.spec(Confinement::Off).schema, tool.name());
        }
    }
}
