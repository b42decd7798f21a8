//! Python programs.

use crate::error::ExecError;
use crate::plan::{Plan, Planning};

/// Runs as `sitecustomize` before the program, also for Python 2. It undoes what brought it in, so
/// that neither the program nor its children see it, puts the working directory on the module
/// path, as `python -c` has it, and then lets an installed `sitecustomize` run.
const LOADER: &str = r#"import os, sys
def _load():
    own = os.environ.pop("PYTHONPATH", None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.path[:] = [entry for entry in sys.path if entry != own]
    content = os.environ.pop("QUIETCONTEXT_FILE_CONTENT", None)
    if content is not None:
        import io
        try:
            import builtins
        except ImportError:
            import __builtin__ as builtins
        with io.open(content, encoding="utf-8", newline="") as file:
            builtins.FILE_CONTENT = builtins.file_content = file.read()
    module = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize
    except ImportError:
        pass
    sys.modules.setdefault("sitecustomize", module)
    sys.path.insert(0, os.getcwd())
_load()
del _load
"#;

pub(super) fn plan(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.py")?;
    planning.write("sitecustomize.py", LOADER.as_bytes())?;
    let plan = Plan::run(&planning.runtime.path, [program.into()])
        .with("PYTHONPATH", planning.stage)
        .with("PYTHONDONTWRITEBYTECODE", "1");
    Ok(planning.with_content(plan))
}
