//! C# programs: top-level statements or a full program.

use std::ffi::OsString;

use super::mask::{Syntax, mask};
use super::words::words_at;
use crate::error::ExecError;
use crate::plan::{Build, CONTENT_VARIABLE, Plan, Planning};

const USINGS: &str = "using System; using System.Collections.Generic; using System.IO; \
    using System.Linq; using System.Text; using System.Threading.Tasks; ";

const CONTENT_LOADER: &str = "public static class QuietContextFile {\n  \
    public static readonly string FILE_CONTENT = Load();\n  \
    public static readonly string file_content = FILE_CONTENT;\n  \
    static string Load() {\n    \
    var path = System.Environment.GetEnvironmentVariable(\"QUIETCONTEXT_FILE_CONTENT\");\n    \
    System.Environment.SetEnvironmentVariable(\"QUIETCONTEXT_FILE_CONTENT\", null);\n    \
    return System.IO.File.ReadAllText(path);\n  }\n}\n";

/// A project of its own in the private directory: the framework that this SDK has, no packages.
pub(super) fn dotnet(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let (major, minor) = planning.runtime.version.unwrap_or((8, 0));
    let project = format!(
        "<Project Sdk=\"Microsoft.NET.Sdk\">\n  <PropertyGroup>\n    \
         <OutputType>Exe</OutputType>\n    \
         <TargetFramework>net{major}.{minor}</TargetFramework>\n    \
         <ImplicitUsings>enable</ImplicitUsings>\n    <Nullable>disable</Nullable>\n    \
         <TreatWarningsAsErrors>false</TreatWarningsAsErrors>\n    \
         <WarningLevel>0</WarningLevel>\n    <UseAppHost>false</UseAppHost>\n    \
         <InvariantGlobalization>true</InvariantGlobalization>\n    \
         <NuGetAudit>false</NuGetAudit>\n  </PropertyGroup>\n</Project>\n"
    );
    planning.directory("main")?;
    let file = planning.write("main/program.csproj", project.as_bytes())?;
    planning.write("main/Program.cs", planning.code.as_bytes())?;
    // No build server stays behind, to be stopped.
    let mut environment = vec![("MSBUILDDISABLENODEREUSE".into(), "1".into())];
    if let Some(content) = planning.content {
        let loader = format!("global using static QuietContextFile;\n{CONTENT_LOADER}");
        planning.write("main/FileContent.cs", loader.as_bytes())?;
        environment.push((CONTENT_VARIABLE.into(), content.into()));
    }
    let built = planning.stage.join("built");
    let mut arguments: Vec<OsString> = [
        "build",
        "--nologo",
        "-v",
        "quiet",
        "-clp:NoSummary",
        "-p:UseSharedCompilation=false",
        "-o",
    ]
    .map(Into::into)
    .to_vec();
    arguments.extend([built.clone().into(), file.into()]);
    let assembly = built.join("program.dll");
    Ok(Plan {
        build: Some(Build {
            program: planning.runtime.path.clone(),
            arguments,
            cwd: planning.stage.join("main"),
            // The assembly needs files beside it: it is not kept.
            output: "built/program.dll",
            inputs: None,
        }),
        program: planning.runtime.path.clone(),
        arguments: vec![assembly.into()],
        environment,
    })
}

/// Name of the program that Mono's compiler makes.
const OUTPUT: &str = "program.exe";

/// Mono's compiler knows no top-level statements: they are wrapped, on the first line.
pub(super) fn mono(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let mono = (planning.find)("mono").ok_or(ExecError::Program("mono is missing beside mcs"))?;
    let source = source_of(planning.code, planning.content.is_some());
    let file = planning.write("program.cs", source.as_bytes())?;
    let output = planning.stage.join(OUTPUT);
    let mut out = OsString::from("-out:");
    out.push(&output);
    let mut arguments: Vec<OsString> =
        ["-nologo", "-warn:0", "-optimize+", "-langversion:latest", "-r:System.Core"]
            .map(Into::into)
            .to_vec();
    arguments.extend([out, file.into()]);
    let mut inputs = vec![source.into_bytes()];
    let mut environment = Vec::new();
    if let Some(content) = planning.content {
        let loader = planning.write("FileContent.cs", CONTENT_LOADER.as_bytes())?;
        arguments.push(loader.into());
        inputs.push(CONTENT_LOADER.as_bytes().to_vec());
        environment.push((CONTENT_VARIABLE.into(), content.into()));
    }
    Ok(Plan {
        build: Some(Build {
            program: planning.runtime.path.clone(),
            arguments,
            cwd: planning.stage.to_owned(),
            output: OUTPUT,
            inputs: Some(inputs),
        }),
        program: mono,
        arguments: vec![output.into()],
        environment,
    })
}

fn source_of(code: &str, content: bool) -> String {
    let text = mask(code, Syntax::CSharp);
    let static_using = if content { "using static QuietContextFile; " } else { "" };
    if words_at(&text, b"Main").next().is_some()
        && (words_at(&text, b"class").next().is_some()
            || words_at(&text, b"struct").next().is_some())
    {
        return format!("{static_using}{code}");
    }
    // Leading `using` directives stay outside of the class.
    let mut split = 0;
    for line in code.split_inclusive('\n') {
        let line_text = &text[split..split + line.len()];
        let trimmed = line_text.trim_ascii();
        let directive = trimmed.starts_with(b"using ")
            && !trimmed.contains(&b'(')
            && !trimmed.starts_with(b"using var");
        if !directive && !trimmed.is_empty() {
            break;
        }
        split += line.len();
    }
    let (directives, body) = code.split_at_checked(split).unwrap_or(("", code));
    format!(
        "{USINGS}{static_using}{directives}public static class Program {{ \
         public static void Main(string[] args) {{ {body}\n}} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_wrapped_on_their_own_lines() {
        let source = source_of("using System.Net;\nvar a = 1;\nConsole.WriteLine(a);\n", false);
        let mut lines = source.lines();
        assert!(lines.next().unwrap().ends_with("using System.Net;"));
        assert!(lines.next().unwrap().ends_with("{ var a = 1;"));
        assert_eq!(lines.next().unwrap(), "Console.WriteLine(a);");
    }

    #[test]
    fn a_full_program_is_left_alone() {
        let code = "class P { static void Main() {} }";
        assert_eq!(source_of(code, false), code);
    }
}
