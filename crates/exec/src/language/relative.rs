//! Makes `./x` in a JavaScript program mean a file of the working directory, not of the private one.

use std::os::unix::fs::symlink;
use std::path::Path;

use super::javascript::quoted;
use crate::error::ExecError;
use crate::plan::Planning;

/// Endings that Bun tries for a name without one.
const BUN_TRIES: [&str; 9] =
    [".tsx", ".jsx", ".mts", ".ts", ".mjs", ".js", ".cjs", ".cts", ".json"];

/// Modules that the program names by `./` or `../`, as they stand in its strings.
pub(super) fn relative_modules(code: &str) -> Vec<&str> {
    let bytes = code.as_bytes();
    let starts = bytes.windows(3).enumerate().filter(|(at, three)| {
        matches!(three[0], b'"' | b'\'' | b'`')
            && three[1] == b'.'
            && (three[2] == b'/' || (three[2] == b'.' && bytes.get(at + 3) == Some(&b'/')))
    });
    starts
        .map(|(at, three)| {
            let rest = code.get(at + 1..).unwrap_or_default();
            rest.split([char::from(three[0]), '\n']).next().unwrap_or_default()
        })
        .collect()
}

/// For Node.js: text of a loader. `cwd` and `program` are quoted paths of files.
pub(super) fn node_source(cwd: &str, program: &str) -> String {
    format!(
        "{{\n\
         const Module = require('node:module');\n\
         const {{ pathToFileURL }} = require('node:url');\n\
         {}\
         if (Module.register) {{\n  \
           const hook = `export async function resolve(specifier, context, next) {{\n    \
             const own = ${{JSON.stringify(pathToFileURL({program}).href)}};\n    \
             if (context.parentURL === own && /^\\\\.\\\\.?\\\\//.test(specifier)) {{\n      \
               context = {{ ...context, parentURL: \
                 ${{JSON.stringify(pathToFileURL({cwd}).href)}} }};\n    \
             }}\n    \
             return next(specifier, context);\n  \
           }}`;\n  \
           Module.register('data:text/javascript,' + encodeURIComponent(hook));\n\
         }}\n\
         }}\n",
        required_source(cwd, program)
    )
}

/// The same for what is `require`d; the name `Module` is there.
pub(super) fn required_source(cwd: &str, program: &str) -> String {
    format!(
        "const resolve = Module._resolveFilename;\n\
         Module._resolveFilename = function (request, parent, ...rest) {{\n  \
           if (parent && parent.filename === {program} && /^\\.\\.?\\//.test(request)) {{\n    \
             return Module.createRequire({cwd}).resolve(request);\n  \
           }}\n  \
           return resolve.call(this, request, parent, ...rest);\n\
         }};\n"
    )
}

/// For Bun: text of a loader. It asks no plugin about a name without an ending; those in the working
/// directory get links beside the program, and `../x` has to be written with its ending.
pub(super) fn bun_source(planning: &Planning<'_>, program: &Path) -> String {
    for module in relative_modules(planning.code) {
        let Some(path) = module.strip_prefix("./") else { continue };
        let (first, below) = path.split_once('/').unwrap_or((path, ""));
        let link = |name: &str| {
            let target = planning.cwd.join(name);
            if target.exists() {
                // What is there already is the program's own, or linked before.
                drop(symlink(target, planning.disk.join(name)));
            }
        };
        if below.is_empty() && !first.is_empty() {
            for ending in BUN_TRIES {
                link(&format!("{first}{ending}"));
            }
        }
        if !matches!(first, "" | "." | "..") {
            link(first);
        }
    }
    format!(
        "Bun.plugin({{\n  \
           name: 'working directory',\n  \
           setup(build) {{\n    \
             build.onResolve({{ filter: /^\\.\\.?\\// }}, ({{ path, importer }}) =>\n      \
               importer === {} ? {{ path: Bun.resolveSync(path, {}) }} : undefined);\n  \
           }},\n\
         }});\n",
        quoted(program),
        quoted(planning.cwd)
    )
}

/// For Deno: an import map that holds for the program alone, and leads out of its directory to the
/// same place seen from the working directory. Nothing is led away from the disk's root, where
/// absolute paths begin.
pub(super) fn deno_map(planning: &Planning<'_>, name: &str) -> Result<(), ExecError> {
    let mut entries = Vec::new();
    let mut up = String::from("./");
    let levels = planning.stage.components().count().saturating_sub(1);
    for directory in planning.cwd.ancestors().take(levels) {
        entries.push(format!("{}: {}", json(&up), json(&url_of(directory))));
        up = if up == "./" { "../".into() } else { format!("../{up}") };
    }
    let text =
        format!("{{\"scopes\": {{{}: {{{}}}}}}}\n", json(&format!("./{name}")), entries.join(", "));
    planning.write("imports.json", text.as_bytes()).map(drop)
}

/// The address of a directory, with a slash at its end.
fn url_of(directory: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut url = String::from("file://");
    for byte in directory.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => url.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => url.push(char::from(*byte)),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    if !url.ends_with('/') {
        url.push('/');
    }
    url
}

/// Text without control characters as a JSON string.
fn json(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_modules_are_noticed() {
        assert_eq!(relative_modules("require('./a')"), ["./a"]);
        assert_eq!(relative_modules("import x from \"../a\"; f(`./b`)"), ["../a", "./b"]);
        assert_eq!(relative_modules("x = './open\n'"), ["./open"]);
        assert!(relative_modules("require('a/./b') + '...'").is_empty());
    }

    #[test]
    fn a_directory_is_an_address() {
        assert_eq!(url_of(Path::new("/a b/ä#")), "file:///a%20b/%C3%A4%23/");
        assert_eq!(url_of(Path::new("/")), "file:///");
    }
}
