//! Answers each request of the protocol, whatever revision it speaks and whatever came before it.

use std::{fmt, sync::Arc};

use quietcontext_tools::{Call, Tool};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, ErrorCode, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ServerConfig, Tool as Listed,
    },
    service::{NotificationContext, RequestContext},
};
use tracing::Instrument as _;

use crate::{
    calls::{Calls, Reply},
    catalog::{self, Catalog},
    progress,
    root::Root,
};

/// Methods that exist here: what the SDK could not read of them had wrong parameters.
const METHODS: [&str; 8] = [
    "initialize",
    "ping",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// How much of an unknown name is repeated, in characters.
const NAME_SHOWN: usize = 64;

/// One client's view of the server.
pub(crate) struct Handler<C> {
    pub(crate) calls: Arc<C>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) root: Arc<Root>,
}

// By hand: a derived one would want the calls themselves to be cloned.
impl<C> Clone for Handler<C> {
    fn clone(&self) -> Self {
        Self {
            calls: Arc::clone(&self.calls),
            catalog: Arc::clone(&self.catalog),
            root: Arc::clone(&self.root),
        }
    }
}

impl<C> fmt::Debug for Handler<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handler").field("root", &self.root).finish_non_exhaustive()
    }
}

/// The whole list comes in one piece, so no cursor was ever given.
fn refuse_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) if !cursor.is_empty() => {
            Err(ErrorData::invalid_params("unknown cursor", None))
        }
        _ => Ok(()),
    }
}

fn shown(name: &str) -> String {
    name.chars().take(NAME_SHOWN).collect()
}

impl<C: Calls> Handler<C> {
    /// Runs one call as a task of its own, so that a panic in it is its own error.
    async fn run(
        &self,
        tool: Tool,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Reply {
        let root = match self.root.resolve(&context).await {
            Ok(root) => root,
            Err(line) => return Reply { text: line, is_error: true },
        };
        let token = context.meta.get_progress_token();
        let (progress, forwarder) =
            token.map(|token| progress::forward(context.peer.clone(), token)).unzip();
        let call = Call {
            root,
            tool,
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct,
            progress,
        };
        let calls = Arc::clone(&self.calls);
        let span = tracing::info_span!("call", id = %context.id, tool = tool.name());
        let task = async move { calls.call(call).await };
        let reply = match tokio::spawn(task.instrument(span)).await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(%error, tool = tool.name(), "a call failed");
                Reply {
                    text: format!(
                        "error: {} failed inside the server; other calls go on",
                        tool.name()
                    ),
                    is_error: true,
                }
            }
        };
        if let Some(forwarder) = forwarder {
            forwarder.finish().await;
        }
        reply
    }
}

impl<C: Calls> ServerHandler for Handler<C> {
    fn get_info(&self) -> ServerConfig {
        catalog::server()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let result = self.negotiate_initialize(&request)?;
        let mut client = request;
        client.protocol_version = result.protocol_version.clone();
        context.peer.set_peer_info(client);
        Ok(result)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        refuse_cursor(request)?;
        Ok(self.catalog.list(context.protocol_version().as_ref()))
    }

    fn get_tool(&self, name: &str) -> Option<Listed> {
        self.catalog.get(Tool::parse(name)?.name())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::parse(&request.name) else {
            let message = format!("unknown tool: {}", shown(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        };
        let reply = self.run(tool, request, context).await;
        let mut result = CallToolResult::success(vec![ContentBlock::text(reply.text)]);
        // Absent means false, and costs nothing.
        result.is_error = reply.is_error.then_some(true);
        Ok(result.into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        refuse_cursor(request)?;
        Ok(ListPromptsResult::default())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        refuse_cursor(request)?;
        Ok(ListResourcesResult::default())
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        refuse_cursor(request)?;
        Ok(ListResourceTemplatesResult::default())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = shown(&request.method);
        Err(if METHODS.contains(&request.method.as_str()) {
            ErrorData::invalid_params(format!("{method}: wrong params"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method: {method}"), None)
        })
    }

    async fn on_roots_list_changed(&self, _context: NotificationContext<RoleServer>) {
        self.root.roots_changed().await;
    }
}
