"""``python -m fuzz --minutes 10``: every campaign, a table, and an exit code.

The exit code is 1 where a case ended as none may. ``--write`` puts the counts into a document.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fuzz.campaigns import CAMPAIGNS
from fuzz.report import as_table, write_document
from fuzz.runner import run


def main() -> int:
    """Run the campaigns that were asked for."""
    options = _options()
    chosen = [CAMPAIGNS[name] for name in options.only or CAMPAIGNS]
    total = sum(c.share for c in chosen)
    tallies = {}
    for campaign in chosen:
        minutes = options.minutes * campaign.share / total
        print(f"== {campaign.title} ({minutes:.1f} minutes)", flush=True)
        tally = run(campaign, minutes, options.seed, options.processes, options.cases)
        tallies[campaign.name] = tally
        print(as_table(tally), flush=True)
        for finding in tally.findings[:20]:
            print(json.dumps(finding), flush=True)
    if options.write is not None:
        write_document(options.write, tallies, options.minutes)
    return 1 if any(t.findings for t in tallies.values()) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="for all campaigns together")
    parser.add_argument("--only", nargs="+", choices=sorted(CAMPAIGNS), help="these alone")
    parser.add_argument("--cases", type=int, default=0, help="at most so many per campaign")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="the document that gets the counts")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
