//! Which languages can be tested here, and what they are tested with.

use quietcontext_exec::{ExecError, Language};

use super::Bench;

/// Languages whose runtime may be missing even where everything is required
/// (`QUIETCONTEXT_TEST_REQUIRE=all`): not every distribution packages them.
const OPTIONAL: &[&str] = &["typescript", "csharp"];

/// The languages that can run here. A missing one is reported by name; where everything is
/// required it fails the test, unless it is on the list above.
#[expect(clippy::print_stdout, reason = "what is skipped is said")]
pub(crate) fn installed(bench: &Bench) -> Vec<Language> {
    let required =
        std::env::var_os("QUIETCONTEXT_TEST_REQUIRE").is_some_and(|value| value == "all");
    Language::all()
        .filter(|language| match bench.executor.runtime(*language) {
            Ok(_) => true,
            Err(error) => {
                assert!(matches!(error, ExecError::MissingRuntime { .. }));
                println!("SKIPPED {}: {error}", language.name());
                assert!(!required || OPTIONAL.contains(&language.name()), "{error}");
                false
            }
        })
        .collect()
}

pub(crate) fn is_installed(bench: &Bench, name: &str) -> bool {
    installed(bench).contains(&Language::parse(name).unwrap())
}

/// Prints the content's size and, where it was read by nobody, what standard input still holds.
pub(crate) const CONTENT_PROGRAMS: &[(&str, &str)] = &[
    ("shell", "LC_ALL=C; printf '%s %s\\n' ${#FILE_CONTENT} \"$(wc -c)\""),
    ("python", "import sys\nprint(len(FILE_CONTENT.encode()), len(sys.stdin.buffer.read()))"),
    (
        "javascript",
        "const n = require('fs').readFileSync(0).length;\n\
         console.log(Buffer.byteLength(FILE_CONTENT), n);",
    ),
    (
        "typescript",
        "import { readFileSync } from 'node:fs';\ndeclare const FILE_CONTENT: string;\n\
         const n: number = readFileSync(0).length;\n\
         console.log(Buffer.byteLength(FILE_CONTENT), n);",
    ),
    ("ruby", "puts \"#{FILE_CONTENT.bytesize} #{$stdin.read.bytesize}\""),
    ("go", "rest, _ := io.ReadAll(os.Stdin)\nfmt.Println(len(FILE_CONTENT), len(rest))"),
    (
        "rust",
        "use std::io::Read;\nlet mut rest = Vec::new();\nstd::io::stdin().read_to_end(&mut rest)?;\n\
         println!(\"{} {}\", FILE_CONTENT.len(), rest.len());",
    ),
    ("php", "echo strlen($FILE_CONTENT), ' ', strlen(stream_get_contents(STDIN)), \"\\n\";"),
    (
        "perl",
        "use strict; use warnings; use Encode;\nlocal $/;\nbinmode STDIN;\nmy $rest = <STDIN>;\n\
         print length(Encode::encode('UTF-8', $FILE_CONTENT)), ' ', length($rest), \"\\n\";",
    ),
    (
        "r",
        "rest <- readBin(file('stdin', 'rb'), 'raw', 1e6)\n\
         cat(nchar(FILE_CONTENT, 'bytes'), length(rest))\ncat('\\n')",
    ),
    (
        "elixir",
        ":io.setopts(:standard_io, encoding: :latin1)\nrest = IO.binread(:stdio, :eof)\n\
         IO.puts(\"#{byte_size(file_content)} #{byte_size(rest)}\")",
    ),
    (
        "csharp",
        "var n = 0; using (var s = Console.OpenStandardInput()) { while (s.ReadByte() >= 0) n++; }\n\
         Console.WriteLine(Encoding.UTF8.GetByteCount(FILE_CONTENT) + \" \" + n);",
    ),
];
