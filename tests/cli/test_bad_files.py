"""Every bad file by every command that reads one: a sentence, an exit code, and no output."""

import gzip
import hashlib
import json
import pickle
import zipfile

import pytest
from support.mixed_tables import ORDER, WORDS, mixed_frame


def csv_bytes(frame, **options):
    return frame.to_csv(index=False, **options).encode()


def good():
    return mixed_frame(60, seed=3)


def truncated_gzip():
    whole = gzip.compress(csv_bytes(good()))
    return whole[: len(whole) // 2]


def twice(column):
    header, _, rest = csv_bytes(good()).partition(b"\n")
    return header.replace(b"a,b", b"%s,%s" % (column, column), 1) + b"\n" + rest


def without_some_labels():
    frame = good()
    frame.loc[[2, 5], "rating"] = None
    return csv_bytes(frame)


def without_values(column):
    return csv_bytes(good().assign(**{column: None}))


def ragged():
    return csv_bytes(good()) + b"1,2\n"


# name: (file name, its bytes); the same for all commands.
UNREADABLE = {
    "empty": ("t.csv", b""),
    "header only": ("t.csv", b"a,b,c,colour,rating\n"),
    "wrong delimiter": ("t.csv", csv_bytes(good(), sep=";")),
    "not UTF-8": ("t.csv", csv_bytes(good()).replace(b"red", b"r\xe9d")),
    "duplicate columns": ("t.csv", twice(b"a")),
    "binary": ("t.csv", bytes(range(256)) * 20),
    "truncated gz": ("t.csv.gz", truncated_gzip()),
    "not a gz": ("t.csv.gz", b"plain text"),
    "bad parquet": ("t.parquet", b"PAR1 nothing PAR1"),
    "bad arrow": ("t.arrow", b"ARROW1 nothing"),
    "bad JSON": ("t.jsonl", b'{"a": 1\n{"a"'),
    "ragged": ("t.csv", ragged()),
}
# These have labels that no model can be fitted to, or measured with.
UNFIT = {
    "target missing in some rows": ("t.csv", without_some_labels()),
    "one class": ("t.csv", csv_bytes(good().assign(rating="good"))),
    "ten thousand classes": (
        "t.csv",
        b"a,rating\n" + b"".join(b"%d,%d\n" % (i % 7, i) for i in range(10_000)),
    ),
    "column without values": ("t.csv", without_values("b")),
    "no order": ("t.csv", csv_bytes(good())),
    "a label beside the order": ("t.csv", csv_bytes(good().replace({"rating": {"fair": "so-so"}}))),
}
UNMEASURED = {
    "target missing in some rows": ("t.csv", without_some_labels()),
    "unseen label": ("t.csv", csv_bytes(good().replace({"rating": {"fair": "so-so"}}))),
    "no target": ("t.csv", csv_bytes(good().drop(columns="rating"))),
}


@pytest.fixture
def fails(run, tmp_path, capsys):
    """Run a command that must fail: what it said, after looking for traces that it left."""

    def run_and_look(code, *arguments):
        before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert run(*arguments) == code
        said = capsys.readouterr()
        assert said.err.startswith("Error: "), said.err
        assert said.err.count("\n") == 1 and said.err.rstrip().endswith((".", "?")), said.err
        assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
        return said.err

    return run_and_look


def written(tmp_path, file):
    name, content = file
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


@pytest.mark.parametrize("file", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_files_that_are_no_tables(fails, model_file, tmp_path, command, file):
    path, out = written(tmp_path, file), tmp_path / "out.csv"
    if command == "fit":
        said = fails(2, "fit", path, "--order", ORDER, "--save", out)
    else:
        said = fails(2, command, model_file, path, "--out", out)
    assert path.name in said or "column" in said


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_a_folder_and_no_file(fails, model_file, tmp_path, command):
    model, option = ([], "--save") if command == "fit" else ([model_file], "--out")
    for path in (tmp_path, tmp_path / "absent.csv"):
        assert str(path) in fails(2, command, *model, path, option, tmp_path / "out.csv")


@pytest.mark.parametrize("name", UNFIT)
def test_tables_that_nothing_can_be_fitted_to(fails, tmp_path, name):
    path = written(tmp_path, UNFIT[name])
    order = [] if name in ("no order", "ten thousand classes") else ["--order", ORDER]
    fails(2, "fit", path, *order, "--save", tmp_path / "m.echelon")


@pytest.mark.parametrize("name", UNMEASURED)
def test_tables_that_a_model_cannot_be_measured_on(fails, model_file, tmp_path, name):
    path = written(tmp_path, UNMEASURED[name])
    said = fails(2, "evaluate", model_file, path, "--out", tmp_path / "figures.json")
    if name == "unseen label":
        assert "so-so" in said


def test_a_byte_order_mark_is_simply_read(run, model_file, tmp_path, capsys):
    path = written(tmp_path, ("t.csv", good().to_csv(index=False).encode("utf-8-sig")))
    assert run("predict", model_file, path) == 0
    assert capsys.readouterr().out.count("\n") == 61


def altered(path, changes):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members.update(changes(members))
    return members


def zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def spoiled(model_file, path, how):
    whole = model_file.read_bytes()
    if how == "truncated":
        path.write_bytes(whole[: len(whole) * 2 // 3])
    elif how == "pickle":
        path.write_bytes(pickle.dumps({"model": WORDS}))
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "altered":
        card = {"card.json": lambda m: m["card.json"].replace(b"good", b"evil")}
        zipped(path, altered(model_file, lambda m: {k: v(m) for k, v in card.items()}))
    else:
        state = {"is": "object", "type": "argparse.Namespace", "state": {"answer": 42}}
        foreign = json.dumps([state, None]).encode()
        members = altered(model_file, lambda m: {"estimators.json": foreign})
        sums = json.loads(members["checksums.json"])
        sums["estimators.json"] = hashlib.sha256(foreign).hexdigest()
        zipped(path, {**members, "checksums.json": json.dumps(sums).encode()})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("truncated", "truncated"),
        ("altered", "altered"),
        ("foreign type", "argparse.Namespace"),
        ("pickle", "pickle"),
        ("empty", "not a model file"),
    ],
)
@pytest.mark.parametrize("command", ["predict", "evaluate", "info", "explain"])
def test_model_files_that_are_refused(fails, model_file, tmp_path, command, how, words):
    path = tmp_path / "m.echelon"
    spoiled(model_file, path, how)
    if command == "info" and how == "foreign type":
        pytest.skip("info never looks at the types")
    table = [] if command == "info" else [written(tmp_path, ("t.csv", csv_bytes(good())))]
    assert words in fails(3, command, path, *table)


def test_a_table_in_place_of_a_model(fails, tmp_path):
    path = written(tmp_path, ("t.csv", csv_bytes(good())))
    assert "not a model file" in fails(3, "predict", path, path)


@pytest.mark.parametrize(
    ("options", "end"),
    [
        ([], "so give --delimiter ';'."),
        (["--delimiter", ";"], "highest with --order 'lowest<…<highest'."),
        (["--delimiter", ";", "--order", "poor<good"], "that --order does not name: great, fair."),
    ],
)
def test_messages_of_the_library_are_in_the_words_of_the_command(fails, tmp_path, options, end):
    (tmp_path / "t.csv").write_bytes(csv_bytes(good(), sep=";"))
    said = fails(2, "fit", tmp_path / "t.csv", *options)
    assert end in said and "=" not in said.partition("Error")[2]
