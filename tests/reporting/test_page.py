"""The page itself: tags, policy, escaping, pictures, determinism, figures in cells."""

import math
import re

import pytest
from reporting.pages import COLUMNS, LABELS, NASTY, Reader, full_page, pipeline, table

from echelon.reporting import report
from echelon.reporting.content import figure_cell, number

pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="reports need matplotlib")


@pytest.fixture(scope="module")
def page():
    return full_page()


@pytest.fixture(scope="module")
def read(page):
    return Reader(page.html)


def test_a_model_with_a_leaderboard_has_all_its_sections(page, read):
    assert page.left_out == {}
    assert list(page.sections) == [
        "summary",
        "data",
        "leaderboard",
        "critical-difference",
        "confusion",
        "by-class",
        "latent",
        "calibration",
        "intervals",
        "coefficients",
        "importance",
        "effects",
        "rows",
        "rounds",
        "appendix",
    ]
    assert set(page.sections) <= set(read.ids)
    leads = [a for tag, a, _ in read.elements if tag == "p" and a.get("class") == "lead"]
    assert len(leads) == len(page.sections)


def test_tags_are_balanced_and_ids_are_unique(read):
    assert len(read.ids) == len(set(read.ids))
    known = set(read.ids)
    for _, attributes, _ in read.elements:
        for key in ("href", "aria-labelledby", "aria-describedby"):
            target = attributes.get(key)
            if target is not None:
                assert target.removeprefix("#") in known


def test_references_inside_pictures_lead_somewhere(page, read):
    wanted = set(re.findall(r"url\(#([^)]+)\)", page.html))
    assert wanted
    assert wanted <= set(read.ids)


def test_nothing_is_loaded_from_anywhere(page, read):
    assert "http:" not in page.html
    assert "https:" not in page.html
    assert "@import" not in page.html
    assert "url(" not in re.sub(r"url\(#[^)]+\)", "", page.html)
    assert not read.all("link")
    assert not read.all("img")
    assert read.all("script") == [{}]


def test_the_policy_allows_only_the_script_of_the_page(page, read):
    import base64
    import hashlib

    policy = next(a["content"] for a in read.all("meta") if "http-equiv" in a)
    script = page.html.split("<script>")[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_texts_of_users_are_only_texts(page, read):
    assert NASTY not in page.html
    assert "<img" not in page.html
    assert "<b>up" not in page.html
    assert "<em>" not in page.html
    assert "onerror" not in {key for _, attributes, _ in read.elements for key in attributes}
    for name in (*LABELS, *COLUMNS, "<em>verdict</em>"):
        assert " ".join(name.split()) in read.text


def test_texts_in_pictures_are_texts_in_the_fonts_and_inks_of_the_page(read):
    texts = [a for tag, a, path in read.elements if tag == "text" and "svg" in path]
    assert len(texts) > 50
    for attributes in texts:
        assert "DejaVu" not in attributes.get("style", "")
        assert "var(--sans)" in attributes["style"]
    drawn = " ".join(a.get("style", "") for tag, a, path in read.elements if "svg" in path)
    mixed = re.sub(r"color-mix\([^)]*\)\)", "", re.sub(r"var\(--keep\)", "", drawn))
    assert "var(--ink)" in drawn
    assert "#262626" not in mixed and "#d9d9d9" not in mixed


def test_every_picture_has_a_name_a_description_and_its_numbers(page, read):
    figures = [a["id"] for a in read.all("figure")]
    assert len(figures) >= 8
    for svg in read.all("svg"):
        assert svg["role"] == "img"
        assert svg["aria-labelledby"] in read.ids and svg["aria-describedby"] in read.ids
    for figure in page.html.split("<figure")[1:]:
        assert "<details" in figure.split("</figure>")[0]


def test_the_same_input_gives_the_same_page():
    X, y = table(60)
    wanted = ["summary", "latent", "effects", "rows"]
    first, second = (
        report(pipeline(), X, y, sections=wanted, random_state=3).html for _ in range(2)
    )
    assert first == second


def test_headings_of_sortable_tables_say_what_they_are_sorted_by(page):
    head = page.html.split('id="leaderboard"')[1].split("</thead>")[0]
    assert re.search(r'aria-sort="ascending"[^>]*>MAE', head)
    assert head.count("aria-sort") == 1


def test_figures_that_are_no_numbers():
    assert [number(x) for x in (math.nan, None, math.inf, -math.inf)] == ["–", "–", "∞", "−∞"]
    assert number(-0.0001) == "0.000"
    assert figure_cell(math.inf).key is None
