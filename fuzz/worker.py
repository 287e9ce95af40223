"""The process that runs cases: a seed per line in, a case per line out.

``python -m fuzz.worker NAME``. What the case itself prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from dataclasses import asdict

from fuzz.campaign import Case
from fuzz.campaigns import CAMPAIGNS


def main() -> None:
    """Answer one line per seed until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    case = CAMPAIGNS[sys.argv[1]].load()
    print("ready", file=answers)
    for line in sys.stdin:
        try:
            answer = case(int(line))
        except Exception:
            last = traceback.format_exc().strip().splitlines()
            answer = Case("the campaign itself", "foreign", " | ".join(last[-6:]))
        print(json.dumps(asdict(answer)), file=answers)


if __name__ == "__main__":
    main()
