//! From `language` and `code`, or `script_ref`, to the program of a call.

use quietcontext_exec::Language;
use std::sync::Arc;

use crate::args::Fields;
use crate::error::ToolError;
use crate::limits;
use crate::render::short;
use crate::scripts::{Script, Scripts};

/// Where the program comes from, as sent.
#[derive(Debug)]
pub(crate) enum ScriptSource {
    /// The program itself.
    Code(Script),
    /// A program that was sent before.
    Reference { reference: String, language: Option<Language> },
}

/// Takes `language`, `code` and `script_ref` out of the arguments; exactly one program must be meant.
pub(crate) fn source(fields: &mut Fields) -> Result<ScriptSource, ToolError> {
    let code = fields.string("code")?;
    let reference = fields.string("script_ref")?;
    let language = match fields.string("language")? {
        None => None,
        Some(name) => Some(Language::parse(&name).ok_or_else(|| {
            let known: Vec<_> = Language::all().map(Language::name).collect();
            ToolError::argument(
                "language",
                format!("{} is not one of {}", short(&name), known.join(", ")),
            )
        })?),
    };
    match (code, reference) {
        (Some(_), Some(_)) => {
            Err(ToolError::Argument("code and script_ref are both given: give one of them".into()))
        }
        (None, None) => Err(ToolError::Argument(
            "code is missing: give language and code, or script_ref".into(),
        )),
        (None, Some(reference)) => Ok(ScriptSource::Reference { reference, language }),
        (Some(code), None) => {
            let language = language
                .ok_or_else(|| ToolError::argument("language", "is missing beside code"))?;
            check_code(&code)?;
            Ok(ScriptSource::Code(Script { language, code: Arc::from(code) }))
        }
    }
}

fn check_code(code: &str) -> Result<(), ToolError> {
    if code.trim().is_empty() {
        return Err(ToolError::argument("code", "is empty"));
    }
    if code.contains('\0') {
        return Err(ToolError::argument("code", "must not hold a NUL character"));
    }
    if code.len() > limits::PROGRAM_BYTES {
        let (most, got) = (limits::PROGRAM_BYTES, code.len());
        return Err(ToolError::argument(
            "code",
            format!("may have {most} bytes, got {got}; put data into a file and use exec-file"),
        ));
    }
    Ok(())
}

impl ScriptSource {
    /// The program, looked up where a reference was sent; nothing has run yet.
    pub(crate) fn resolve(self, scripts: &Scripts) -> Result<Script, ToolError> {
        match self {
            Self::Code(script) => Ok(script),
            Self::Reference { reference, language } => {
                let script = scripts.find(&reference).map_err(ToolError::Argument)?;
                match language {
                    Some(language) if language != script.language => Err(ToolError::argument(
                        "language",
                        format!(
                            "is {} but the remembered program is {}; leave language out",
                            language.name(),
                            script.language.name()
                        ),
                    )),
                    _ => Ok(script),
                }
            }
        }
    }
}
