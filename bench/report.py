"""Figures as Markdown tables."""


def cell(value, base=None):
    if isinstance(value, dict):  # a summary of seconds
        ratio = (
            ""
            if base is None
            else ", %.2f x bare, least %.2f" % (value["median"] / base["median"], value["min"] / base["min"])
        )
        return "%.2f ms (p95 %.2f, min %.2f%s)" % (value["median"] * 1e3, value["p95"] * 1e3, value["min"] * 1e3, ratio)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(cell(item) for item in value)
    if isinstance(value, float):
        return "%.3g" % value if value < 100 else "%.0f" % value
    return str(value)


def table(name, about, rows):
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [
        "### %s" % name,
        "",
        about,
        "",
        "| | %s |" % " | ".join(columns),
        "|---" * (len(columns) + 1) + "|",
    ]
    for server, row in rows.items():
        bare = rows.get("bare", {}) if server != "bare" else {}
        lines.append(
            "| %s | %s |" % (server, " | ".join(cell(row[c], bare.get(c)) if c in row else "" for c in columns))
        )
    if name == "start":
        spawned = rows["true (bare spawn)"]["spawn"]["median"]
        lines += [
            "",
            "`tools/list` after, in bare spawns of `true`: %s."
            % ", ".join(
                "%s %.1f" % (server, row["tools/list"]["median"] / spawned)
                for server, row in rows.items()
                if "tools/list" in row
            ),
        ]
    return "\n".join(lines)
