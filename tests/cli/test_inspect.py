from support.mixed_tables import ORDER, mixed_frame

from echelon.trained import load_model


def test_a_table_is_shown_written_and_used(run, tmp_path, capsys):
    table, study, out = tmp_path / "t.csv", tmp_path / "study.toml", tmp_path / "m.echelon"
    mixed_frame().to_csv(table, index=False, sep=";")
    assert run("inspect", table, "--delimiter", ";", "--order", ORDER, "--write", study) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{table}: 90 rows, 5 columns\nColumn")
    assert f"Written: {study}" in said
    model = ["--model", "median label", "--jobs", 1, "--save", out]
    assert run("fit", table, "--schema", study, *model) == 0
    assert load_model(out).classes == ORDER.split("<")


def test_problems_are_listed_and_are_the_exit_code(run, tmp_path, capsys):
    table = tmp_path / "t.csv"
    mixed_frame().to_csv(table, index=False)
    assert run("inspect", table, "--weight", "rating") == 2
    said = capsys.readouterr().out
    assert "Problems:\n- " in said and "--order" not in said.split("Problems")[0]
    assert run("inspect", table, "--schema", tmp_path / "none.toml") == 2
    assert "none.toml cannot be read: No such file" in capsys.readouterr().err
