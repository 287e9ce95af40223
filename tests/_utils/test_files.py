import os
import subprocess
import sys
import threading

import pytest

from echelon._utils.files import whole_file, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "folder" / "file.txt"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    write_whole(path, b"old")
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file.txt"]


def test_a_stopped_writer_leaves_nothing(tmp_path):
    path = tmp_path / "file.txt"
    with pytest.raises(KeyboardInterrupt), whole_file(path) as file:
        stop_after_a_part(file)
    assert list(tmp_path.iterdir()) == []


def stop_after_a_part(file):
    file.write(b"half")
    raise KeyboardInterrupt


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"content")
    reader.join()
    assert found == [b"content"]
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_whole(tmp_path, b"content")


def test_permissions_of_a_file_that_was_there_stay(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("old")
    path.chmod(0o600)
    write_whole(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_longest_name_that_a_folder_takes_can_be_written(tmp_path):
    path = tmp_path / ("n" * 251 + ".csv")
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"


def test_what_a_killed_writer_left_is_removed_and_what_another_writes_is_not(tmp_path):
    code = (
        "import os, pathlib, signal, sys\n"
        "from echelon._utils.files import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n"
        "    file.write(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "killed.txt"])
    abandoned = set(tmp_path.iterdir())
    assert len(abandoned) == 1
    with whole_file(tmp_path / "open.txt") as file:
        assert not abandoned & set(tmp_path.iterdir())
        write_whole(tmp_path / "other.txt", b"other")
        file.write(b"whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["open.txt", "other.txt"]
    assert (tmp_path / "open.txt").read_bytes() == b"whole"
