import os
import subprocess
import sys
import time

import pytest

PARENT = """
import subprocess, sys, time
code = '''
import os, pathlib, time
from echelon._utils.processes import end_with
end_with(os.getppid(), pathlib.Path(r"{folder}"))
print("ready", flush=True)
time.sleep(60)
'''
subprocess.run([sys.executable, "-c", code])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills as POSIX does")
def test_a_worker_ends_with_a_killed_parent_and_removes_its_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    code = PARENT.format(folder=folder)
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout.readline() == "ready\n"
        parent.kill()
        # The worker has the other end of the pipe, which is closed when it ends.
        assert parent.stdout.read() == ""
    end = time.monotonic() + 30.0
    while folder.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not folder.exists()


CORES = """
from joblib import Parallel, cpu_count, delayed
from echelon._utils.processes import watched_workers

with watched_workers():
    cpu_count(only_physical_cores=True)
    Parallel(n_jobs=2)(delayed(cpu_count)(only_physical_cores=True) for _ in range(2))
"""


def test_nothing_is_printed_where_cores_cannot_be_counted(tmp_path):
    environment = {**os.environ, "PATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", CORES], capture_output=True, text=True, env=environment
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
