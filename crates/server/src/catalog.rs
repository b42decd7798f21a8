//! What the server says of itself: the tool list, the instructions, its capabilities.
//!
//! All of it is fixed at the start and the same on every start: prompt caches depend on it, and
//! each byte is paid for in every session.

use std::sync::Arc;

use quietcontext_tools::{INSTRUCTIONS, ToolSpec};
use rmcp::model::{
    CacheScope, Implementation, JsonObject, ListToolsResult, ProtocolVersion, ServerCapabilities,
    ServerConfig, Tool, ToolAnnotations,
};
use serde_json::Value;

/// How long a client of revision 2026-07-28 may keep the list without asking again, in
/// milliseconds. It never changes in a process's life.
const LIST_TTL_MS: u64 = 3_600_000;

/// The published tools.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    tools: Vec<Tool>,
}

impl Catalog {
    pub(crate) fn new(specs: impl IntoIterator<Item = ToolSpec>) -> Self {
        Self { tools: specs.into_iter().map(tool).collect() }
    }

    /// The answer to `tools/list` for a client that speaks `version`.
    pub(crate) fn list(&self, version: Option<&ProtocolVersion>) -> ListToolsResult {
        let list = ListToolsResult::with_all_items(self.tools.clone());
        if version.is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28) {
            list.with_ttl_ms(LIST_TTL_MS).with_cache_scope(CacheScope::Public)
        } else {
            list
        }
    }

    /// One tool, under the name by which it is listed.
    pub(crate) fn get(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }
}

/// Name, version, capabilities and instructions.
pub(crate) fn server() -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new("quietcontext", env!("CARGO_PKG_VERSION")))
        .with_instructions(INSTRUCTIONS)
}

fn tool(spec: ToolSpec) -> Tool {
    let schema = match spec.schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    // Clients take an absent destructive or open-world hint for true, the two others for false.
    let mut hints =
        ToolAnnotations::new().destructive(spec.destructive).open_world(spec.open_world);
    hints.read_only_hint = spec.read_only.then_some(true);
    hints.idempotent_hint = spec.idempotent.then_some(true);
    Tool::new(spec.name, spec.description, Arc::new(schema)).annotate(hints)
}

#[cfg(test)]
mod tests {
    use quietcontext_tools::{Confinement, Tool as Offered};

    use super::*;

    fn catalog() -> Catalog {
        Catalog::new(Offered::ALL.map(|tool| tool.spec(Confinement::Off)))
    }

    /// At most 4,096 bytes in every revision; six tools in a fixed order.
    #[test]
    fn the_list_fits_its_budget() {
        for version in [None, Some(ProtocolVersion::V_2026_07_28)] {
            let text = serde_json::to_string(&catalog().list(version.as_ref())).unwrap();
            assert!(text.len() <= 4096, "{} bytes", text.len());
        }
    }

    #[test]
    fn the_list_is_the_same_every_time() {
        let text = || serde_json::to_string(&catalog().list(None)).unwrap();
        assert_eq!(text(), text());
    }

    #[test]
    fn every_tool_says_whether_it_destroys_and_whether_it_reaches_out() {
        for tool in catalog().tools {
            let hints = tool.annotations.unwrap();
            assert!(hints.destructive_hint.is_some(), "{}", tool.name);
            assert!(hints.open_world_hint.is_some(), "{}", tool.name);
            assert_eq!(tool.output_schema, None);
        }
    }

    #[test]
    fn only_the_newest_revision_gets_cache_hints() {
        let keys = |version: ProtocolVersion| -> Vec<String> {
            let list = serde_json::to_value(catalog().list(Some(&version))).unwrap();
            list.as_object().unwrap().keys().cloned().collect()
        };
        assert!(!keys(ProtocolVersion::V_2025_11_25).contains(&"ttlMs".to_owned()));
        assert!(keys(ProtocolVersion::V_2026_07_28).contains(&"ttlMs".to_owned()));
        assert!(keys(ProtocolVersion::V_2026_07_28).contains(&"cacheScope".to_owned()));
    }

    /// A client that turns hyphens into underscores must still tell the tools apart.
    #[test]
    fn names_stay_apart_with_underscores() {
        let mut names: Vec<_> =
            catalog().tools.iter().map(|tool| tool.name.replace('-', "_")).collect();
        names.dedup();
        assert_eq!(names.len(), 6);
    }
}
