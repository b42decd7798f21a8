//! The twelve rows.

use super::{Candidate, LanguageRow, Needs, Smoke};
use super::{csharp, go, javascript, python, rust, scripts, shell, typescript};

const CONTENT: &[&str] = &["FILE_CONTENT", "file_content"];

/// The languages, in the order in which they are listed to users.
pub static LANGUAGES: &[LanguageRow] = &[
    SHELL,
    LanguageRow {
        name: "python",
        aliases: &["py", "python3"],
        extension: "py",
        content_names: CONTENT,
        install: "install Python 3",
        smoke: Smoke {
            program: "import sys\nprint(sum(range(5)), sys.stdin.read() == '')\n",
            output: "10 True\n",
        },
        candidates: &[from_project("python", &["python3", "python"], python::plan)],
    },
    LanguageRow {
        name: "javascript",
        aliases: &["js", "node", "nodejs", "mjs", "cjs"],
        extension: "js",
        content_names: CONTENT,
        install: "install Node.js, Bun or Deno",
        smoke: Smoke {
            program: "import { sep } from 'node:path';\nconst { EOL } = require('node:os');\n\
                      const n = await Promise.resolve(4);\nconsole.log(sep, EOL.length, n);\n",
            output: "/ 1 4\n",
        },
        candidates: &[
            found("node", &["node", "nodejs"], javascript::node),
            found("bun", &["bun"], javascript::bun),
            found("deno", &["deno"], javascript::deno),
        ],
    },
    LanguageRow {
        name: "typescript",
        aliases: &["ts", "mts", "cts"],
        extension: "ts",
        content_names: CONTENT,
        install: "install Bun, Deno, Node.js 22.6 or newer, or tsx",
        smoke: Smoke {
            program: "import { sep } from 'node:path';\nconst { EOL } = require('node:os');\n\
                      interface Pair { a: string; b: number }\n\
                      const pair: Pair = { a: sep, b: await Promise.resolve<number>(4) };\n\
                      console.log(pair.a, EOL.length as number, pair.b);\n",
            output: "/ 1 4\n",
        },
        candidates: &[
            found("bun", &["bun"], typescript::bun),
            found("deno", &["deno"], typescript::deno),
            Candidate {
                name: "node",
                binaries: &["node", "nodejs"],
                from_project: false,
                needs: Needs::Version(22, 6),
                plan: typescript::node,
            },
            from_project("tsx", &["tsx"], typescript::tsx),
        ],
    },
    LanguageRow {
        name: "ruby",
        aliases: &["rb"],
        extension: "rb",
        content_names: CONTENT,
        install: "install Ruby",
        smoke: Smoke { program: "puts [1, 2, 3].sum, $stdin.read.empty?\n", output: "6\ntrue\n" },
        candidates: &[found("ruby", &["ruby"], scripts::ruby)],
    },
    LanguageRow {
        name: "go",
        aliases: &["golang"],
        extension: "go",
        content_names: CONTENT,
        install: "install Go",
        smoke: Smoke {
            program: "for _, word := range strings.Fields(\"a b\") {\n\tfmt.Println(word)\n}\n",
            output: "a\nb\n",
        },
        candidates: &[found("go", &["go"], go::plan)],
    },
    LanguageRow {
        name: "rust",
        aliases: &["rs"],
        extension: "rs",
        content_names: CONTENT,
        install: "install Rust",
        smoke: Smoke {
            program: "let n: i32 = \"4\".parse()?;\nprintln!(\"{}\", n + 1);\n",
            output: "5\n",
        },
        candidates: &[found("rustc", &["rustc"], rust::plan)],
    },
    LanguageRow {
        name: "php",
        aliases: &["php8"],
        extension: "php",
        content_names: CONTENT,
        install: "install the PHP command line",
        smoke: Smoke { program: "echo array_sum([1, 2, 3]), \"\\n\";\n", output: "6\n" },
        candidates: &[found("php", &["php", "php8", "php-cli"], scripts::php)],
    },
    LanguageRow {
        name: "perl",
        aliases: &["pl"],
        extension: "pl",
        content_names: CONTENT,
        install: "install Perl",
        smoke: Smoke {
            program: "use strict; use warnings;\nprint join(',', map { $_ * 2 } 1 .. 3), \"\\n\";\n",
            output: "2,4,6\n",
        },
        candidates: &[found("perl", &["perl"], scripts::perl)],
    },
    LanguageRow {
        name: "r",
        aliases: &["rscript"],
        extension: "R",
        content_names: CONTENT,
        install: "install R",
        smoke: Smoke {
            program: "sum(1:4)\ncat(paste0('a', 'b'), '\\n')\n",
            output: "[1] 10\nab \n",
        },
        candidates: &[found("Rscript", &["Rscript"], scripts::r)],
    },
    LanguageRow {
        name: "elixir",
        aliases: &["ex", "exs"],
        extension: "exs",
        content_names: &["file_content"],
        install: "install Elixir",
        smoke: Smoke {
            program: "[1, 2, 3] |> Enum.map(&(&1 * 2)) |> Enum.sum() |> IO.puts()\n",
            output: "12\n",
        },
        candidates: &[found("elixir", &["elixir"], scripts::elixir)],
    },
    LanguageRow {
        name: "csharp",
        aliases: &["c#", "cs", "csx"],
        extension: "cs",
        content_names: CONTENT,
        install: "install the .NET SDK or Mono",
        smoke: Smoke {
            program: "var words = new List<string> { \"a\", \"b\" };\n\
                      Console.WriteLine(string.Join(\"-\", words.Select(w => w.ToUpper())));\n",
            output: "A-B\n",
        },
        candidates: &[
            Candidate {
                name: "dotnet",
                binaries: &["dotnet"],
                from_project: false,
                needs: Needs::Version(6, 0),
                plan: csharp::dotnet,
            },
            Candidate {
                name: "mono",
                binaries: &["mcs"],
                from_project: false,
                needs: Needs::Companion("mono"),
                plan: csharp::mono,
            },
        ],
    },
];

const SHELL: LanguageRow = LanguageRow {
    name: "shell",
    aliases: &["bash", "sh"],
    extension: "sh",
    content_names: CONTENT,
    install: "install bash",
    smoke: Smoke {
        program: "words=(a b)\nfor w in \"${words[@]}\"; do echo \"$w\"; done\n",
        output: "a\nb\n",
    },
    candidates: &[found("bash", &["bash"], shell::bash), found("sh", &["sh"], shell::posix)],
};

type PlanFunction =
    fn(&crate::plan::Planning<'_>) -> Result<crate::plan::Plan, crate::error::ExecError>;

const fn found(
    name: &'static str,
    binaries: &'static [&'static str],
    plan: PlanFunction,
) -> Candidate {
    Candidate { name, binaries, from_project: false, needs: Needs::Nothing, plan }
}

const fn from_project(
    name: &'static str,
    binaries: &'static [&'static str],
    plan: PlanFunction,
) -> Candidate {
    Candidate { name, binaries, from_project: true, needs: Needs::Nothing, plan }
}
