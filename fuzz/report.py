"""The counts of campaigns as text and as a document."""

from __future__ import annotations

from pathlib import Path

from fuzz.campaign import ANSWERED, FINDINGS, REFUSED, Tally
from fuzz.campaigns import CAMPAIGNS

START, END = "<!-- counts: start -->", "<!-- counts: end -->"


def as_table(tally: Tally) -> str:
    """A Markdown table, a line per subject."""
    names = [ANSWERED, REFUSED, *FINDINGS]
    rows = [["subject", "cases", *names]]
    for subject, counts in sorted(tally.counts.items()):
        rows.append([subject, str(sum(counts.values())), *(str(counts[n]) for n in names)])
    totals = [sum(c[n] for c in tally.counts.values()) for n in names]
    rows.append(["**together**", str(tally.cases), *map(str, totals)])
    rows.insert(1, ["---"] + ["---:"] * (len(names) + 1))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_document(path: Path, tallies: dict[str, Tally], minutes: float) -> None:
    """Replace the counts between the two marks of a document."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    parts = [f"Measured in one run of `make fuzz MINUTES={minutes:g}`.\n"]
    parts += [f"### {CAMPAIGNS[n].title}\n\n{as_table(t)}\n" for n, t in tallies.items()]
    counts = "\n".join(parts)
    path.write_text(f"{before}{START}\n{counts}{END}{after}", encoding="utf-8")
