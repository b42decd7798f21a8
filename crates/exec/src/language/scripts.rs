//! Languages whose runtime takes a file and needs nothing else: Ruby, PHP, Perl, R, Elixir.

use std::ffi::OsString;

use super::words::starts_with_php_tag;
use crate::error::ExecError;
use crate::plan::{CONTENT_VARIABLE, Plan, Planning};

const RUBY_LOADER: &str = "Object.const_set(:FILE_CONTENT, File.read(\
    ENV.delete('QUIETCONTEXT_FILE_CONTENT'), mode: 'rb', encoding: 'UTF-8'))\n\
    module Kernel\n  private\n  def file_content\n    FILE_CONTENT\n  end\nend\n";

pub(super) fn ruby(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.rb")?;
    if planning.content.is_none() {
        return Ok(Plan::run(&planning.runtime.path, [program.into()]));
    }
    let loader = planning.write("loader.rb", RUBY_LOADER.as_bytes())?;
    let arguments: [OsString; 3] = ["-r".into(), loader.into(), program.into()];
    Ok(planning.with_content(Plan::run(&planning.runtime.path, arguments)))
}

/// A variable and a constant: either is what a program may mean by the name.
const PHP_LOADER: &str = "<?php\n\
    $FILE_CONTENT = file_get_contents(getenv('QUIETCONTEXT_FILE_CONTENT'));\n\
    $file_content = $FILE_CONTENT;\n\
    define('FILE_CONTENT', $FILE_CONTENT);\n\
    putenv('QUIETCONTEXT_FILE_CONTENT');\n\
    unset($_SERVER['QUIETCONTEXT_FILE_CONTENT'], $_ENV['QUIETCONTEXT_FILE_CONTENT']);\n";

pub(super) fn php(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    // Without an opening tag PHP would print the program instead of running it. The tag goes on
    // the first line, so that line numbers stay.
    let program = if starts_with_php_tag(planning.code) {
        planning.program("program.php")?
    } else {
        planning.write("program.php", format!("<?php {}", planning.code).as_bytes())?
    };
    let mut arguments: Vec<OsString> = Vec::new();
    if planning.content.is_some() {
        let loader = planning.write("loader.php", PHP_LOADER.as_bytes())?;
        let mut setting = OsString::from("auto_prepend_file=");
        setting.push(loader);
        arguments.extend(["-d".into(), "memory_limit=-1".into(), "-d".into(), setting]);
    }
    arguments.push(program.into());
    Ok(planning.with_content(Plan::run(&planning.runtime.path, arguments)))
}

/// Assigned from another package while the program is compiled, which is what `use strict` counts
/// as imported.
const PERL_LOADER: &str = "package QuietContextLoader;\n\
    BEGIN {\n  my $path = delete $ENV{QUIETCONTEXT_FILE_CONTENT};\n  \
    open(my $file, '<:encoding(UTF-8)', $path) or die \"$path: $!\";\n  \
    local $/;\n  our $content = <$file>;\n  $content = '' unless defined $content;\n  \
    *main::FILE_CONTENT = *main::file_content = \\$content;\n}\n1;\n";

pub(super) fn perl(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.pl")?;
    if planning.content.is_none() {
        return Ok(Plan::run(&planning.runtime.path, [program.into()]));
    }
    planning.write("QuietContextLoader.pm", PERL_LOADER.as_bytes())?;
    let arguments: [OsString; 4] =
        ["-I".into(), planning.stage.into(), "-MQuietContextLoader".into(), program.into()];
    Ok(planning.with_content(Plan::run(&planning.runtime.path, arguments)))
}

/// Runs as the user profile, in the global environment.
const R_LOADER: &str = "local({\n  \
    path <- Sys.getenv('QUIETCONTEXT_FILE_CONTENT')\n  \
    text <- readChar(path, file.info(path)$size, useBytes = TRUE)\n  \
    Encoding(text) <- 'UTF-8'\n  \
    assign('FILE_CONTENT', text, envir = globalenv())\n  \
    assign('file_content', text, envir = globalenv())\n  \
    Sys.unsetenv(c('QUIETCONTEXT_FILE_CONTENT', 'R_PROFILE_USER'))\n})\n";

pub(super) fn r(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.R")?;
    let Some(content) = planning.content else {
        return Ok(Plan::run(&planning.runtime.path, ["--vanilla".into(), program.into()]));
    };
    let loader = planning.write("loader.R", R_LOADER.as_bytes())?;
    let arguments: Vec<OsString> =
        ["--no-environ", "--no-site-file", "--no-restore", "--no-save"].map(Into::into).to_vec();
    let arguments = arguments.into_iter().chain([program.into()]);
    Ok(Plan::run(&planning.runtime.path, arguments)
        .with("R_PROFILE_USER", loader)
        .with(CONTENT_VARIABLE, content))
}

/// Compiles the program under its own file name, with the bare name `file_content` turned into a
/// call of an imported function: a variable bound from outside would need evaluation instead, and
/// evaluated code has no line numbers in its errors.
const ELIXIR_LOADER: &str = r#"content = File.read!(System.get_env("QUIETCONTEXT_FILE_CONTENT"))
System.delete_env("QUIETCONTEXT_FILE_CONTENT")
:persistent_term.put(:quietcontext_file_content, content)
defmodule QuietContextFile do
  def file_content, do: :persistent_term.get(:quietcontext_file_content)
end
[program] = System.argv()
System.argv([])
code = program |> File.read!() |> Code.string_to_quoted!(file: program)
code = Macro.prewalk(code, fn
  {:file_content, meta, context} when is_atom(context) -> {:file_content, meta, []}
  other -> other
end)
import_it = quote do: import(QuietContextFile, only: [file_content: 0], warn: false)
Code.compile_quoted({:__block__, [], [import_it, code]}, program)
"#;

pub(super) fn elixir(planning: &Planning<'_>) -> Result<Plan, ExecError> {
    let program = planning.program("program.exs")?;
    if planning.content.is_none() {
        return Ok(Plan::run(&planning.runtime.path, [program.into()]));
    }
    let loader = planning.write("loader.exs", ELIXIR_LOADER.as_bytes())?;
    let arguments: [OsString; 2] = [loader.into(), program.into()];
    Ok(planning.with_content(Plan::run(&planning.runtime.path, arguments)))
}
