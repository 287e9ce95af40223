"""Say in one line what is missing on this machine, and exit with 1 if anything is."""

import os
import shutil
import sys
import sysconfig

OLDEST = (3, 11)


def missing():
    """Name the first thing that is missing; plain old Python, so that any version runs it."""
    found = sys.version_info[:2]
    if found < OLDEST:
        return "Python 3.11 or newer (this is {}.{}; set PYTHON=...)".format(*found)
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        return "Python's venv module (package python3-venv on Debian)"
    compiler = os.environ.get("CC", "cc").split()[0]
    if not (shutil.which(compiler) or shutil.which("gcc") or shutil.which("clang")):
        return "a C compiler (package gcc on Debian)"
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return "Python's headers (package python3-dev on Debian)"
    return None


if missing():
    sys.exit("Echelon needs " + missing() + ".")
