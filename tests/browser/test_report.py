"""Reports in a real browser, opened from disk with the network off."""

import os
import shutil

import pytest
from reporting.pages import full_page

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("jinja2", reason="reports need jinja2")
pytest.importorskip("matplotlib", reason="reports need matplotlib")

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_CHROMIUM = os.environ.get("ECHELON_CHROMIUM") or next(
    filter(None, map(shutil.which, _NAMES)), None
)
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = pytest.mark.skipif(
    _CHROMIUM is None,
    reason=f"no Chromium on the path ({', '.join(_NAMES)}) and ECHELON_CHROMIUM is not set",
)


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=_CHROMIUM, args=list(_QUIET))
        yield found
        found.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return full_page().save(tmp_path_factory.mktemp("report") / "page.html").as_uri()


@pytest.fixture
def visit(browser, address):
    """Opens the page offline in a window of some kind; fails on any trouble it had at the end."""
    contexts, trouble = [], []

    def watch(route):
        if not route.request.url.startswith("file:"):
            trouble.append(f"asked for {route.request.url}")
            return route.abort()
        return route.continue_()

    def open_page(content=None, **window):
        context = browser.new_context(**window)
        contexts.append(context)
        context.set_offline(True)
        context.route("**/*", watch)
        page = context.new_page()
        page.on("pageerror", lambda error: trouble.append(f"page error: {error}"))
        page.on("console", lambda line: trouble.append(f"console: {line.text}"))
        page.on("dialog", lambda dialog: (trouble.append(dialog.message), dialog.dismiss()))
        page.goto(address) if content is None else page.set_content(content)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []


def _models(page):
    return page.locator("#leaderboard tbody th").all_inner_texts()


def _heading(page, name):
    return page.locator("#leaderboard thead th").filter(has_text=name)


def _relative_luminance(rgb):
    parts = [c / 255 for c in rgb]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(first, second):
    low, high = sorted(map(_relative_luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


def test_opens_from_disk_with_the_network_off(visit):
    page = visit()
    assert page.title().startswith("All of <script>")
    assert page.locator("main section").count() == len(full_page().sections)
    assert page.locator("script").count() == 1


def test_sorting_by_click_reorders_the_rows_and_says_so(visit):
    page = visit()
    first = _models(page)
    heading = _heading(page, "Fit, s")
    heading.get_by_role("button").click()
    assert _models(page) == first[::-1]
    assert heading.get_attribute("aria-sort") == "ascending"
    assert page.locator("#leaderboard th[aria-sort]").count() == 1
    assert "Fit, s, ascending" in page.locator("#spoken").inner_text()
    heading.get_by_role("button").click()
    assert _models(page) == first
    assert heading.get_attribute("aria-sort") == "descending"


def test_sorting_by_keyboard_works_on_texts_and_leaves_gaps_last(visit):
    page = visit()
    by_name = _heading(page, "Model").get_by_role("button")
    by_name.focus()
    page.keyboard.press("Enter")
    starts = ("<script>", "alpha", "beta", "delta")
    assert all(map(str.startswith, _models(page), starts))
    by_score = _heading(page, "RPS").get_by_role("button")
    by_score.focus()
    for direction in ("ascending", "descending"):
        page.keyboard.press("Space")
        assert _heading(page, "RPS").get_attribute("aria-sort") == direction
        assert _models(page)[-1].startswith("beta")


@pytest.mark.parametrize(("prefers", "other"), [("light", "dark"), ("dark", "light")])
def test_the_theme_follows_the_reader_and_can_be_changed(visit, prefers, other):
    page = visit(color_scheme=prefers)
    inks = """() => {
        const style = (query, key) => getComputedStyle(document.querySelector(query))[key];
        const line = "#figure-critical-difference path[style*=ink]";
        return [style("body", "color"), style("body", "backgroundColor"),
                style("#figure-latent text", "fill"), style(line, "stroke")];
    }"""
    before = page.evaluate(inks)
    # The button names what a click on it gives.
    page.get_by_role("button", name=f"{other.title()} theme").click()
    assert page.locator("#theme").inner_text() == f"{prefers.title()} theme"
    after = page.evaluate(inks)
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert page.evaluate("document.documentElement.dataset.theme") == other
    page.reload()
    assert page.evaluate(inks) == after


def test_the_theme_can_be_changed_where_nothing_can_be_remembered(visit):
    page = visit(content=full_page()._repr_html_(), viewport={"width": 900, "height": 800})
    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Dark theme").click()
    assert frame.locator("html").get_attribute("data-theme") == "dark"


def test_links_stay_inside_a_notebook(visit):
    page = visit(content=full_page()._repr_html_(), viewport={"width": 1100, "height": 800})
    frame = page.frame_locator("iframe")
    frame.get_by_role("link", name="Calibration").click()
    frame.locator("#calibration:focus").wait_for(timeout=5000)
    assert frame.locator("h1").count() == 1


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_itself_never_scrolls_sideways(visit, width):
    page = visit(viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter((element) => {
            const box = element.getBoundingClientRect();
            return box.width > 0 && box.right > innerWidth + 1
                && !element.closest(".scroll, .canvas, .unseen, svg");
        }).map((element) => element.outerHTML.slice(0, 80))"""
    )
    assert wide == []


def test_boxes_that_scroll_can_be_reached_by_keyboard(visit):
    page = visit(viewport={"width": 360, "height": 800})
    stops = page.evaluate(
        """() => [...document.querySelectorAll(".scroll, .canvas")].map(
            (box) => [box.scrollWidth > box.clientWidth + 1
                      || box.scrollHeight > box.clientHeight + 1,
                      box.tabIndex === 0, box.getAttribute("aria-label")])"""
    )
    assert any(scrolls for scrolls, _, _ in stops)
    assert all(scrolls == stop and label for scrolls, stop, label in stops)


def test_tables_that_scroll_say_so(visit):
    page = visit(viewport={"width": 360, "height": 800})
    told = page.evaluate(
        """() => [...document.querySelectorAll("section > .scroll")].map((box) => {
            const cue = box.nextElementSibling, before = box.classList.contains("more");
            box.scrollLeft = box.scrollWidth;
            return [box.scrollWidth > box.clientWidth + 1, before, !cue.hidden, cue.textContent];
        })"""
    )
    assert any(wide for wide, *_ in told) and not all(wide for wide, *_ in told)
    for wide, shaded, visible, text in told:
        assert wide == shaded == visible
        assert not wide or text.startswith("Scrolls sideways")
    page.wait_for_function("!document.querySelector('section > .scroll.more')", timeout=5000)


def test_every_picture_has_a_name(visit):
    page = visit()
    pictures = page.get_by_role("img")
    named = page.locator("figure svg")
    assert pictures.count() == named.count() >= 8
    for index in range(named.count()):
        name = named.nth(index).evaluate(
            "(svg) => document.getElementById(svg.getAttribute('aria-labelledby')).textContent"
        )
        assert page.get_by_role("img", name=name).count() >= 1


def test_the_keyboard_goes_from_the_skip_link_over_the_contents_to_the_tables(visit):
    page = visit(viewport={"width": 1280, "height": 900})
    stops = []
    for _ in range(40):
        page.keyboard.press("Tab")
        stops.append(
            page.evaluate(
                """() => { const at = document.activeElement;
                return [at.className || at.closest("nav")?.id || "", at.innerText,
                        getComputedStyle(at).outlineStyle]; }"""
            )
        )
    kinds = [kind for kind, _, _ in stops]
    assert kinds[:3] == ["skip", "theme", "contents"]
    links = [text for kind, text, _ in stops if kind == "contents"]
    assert links == list(full_page().sections.values())
    assert kinds[2 + len(links)] != "contents"
    assert "sort" in kinds
    assert all(outline == "solid" for _, _, outline in stops)


def test_the_skip_link_shows_itself_and_leads_to_the_report(visit):
    page = visit()
    page.keyboard.press("Tab")
    page.wait_for_function("document.querySelector('.skip').getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "summary"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_have_enough_contrast(visit, theme):
    page = visit(color_scheme=theme)
    pairs = page.evaluate(
        """() => {
        const canvas = document.createElement("canvas").getContext(
            "2d", { willReadFrequently: true });
        const paint = (color, under) => {
            canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
            canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
        };
        const ground = (element) => {
            for (let at = element; at; at = at.parentElement) {
                const color = getComputedStyle(at).backgroundColor;
                if (!/rgba\\(0, 0, 0, 0\\)|transparent/.test(color)) return color;
            }
            return "white";
        };
        const found = new Map();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const element = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || element.closest("script, title, desc")) continue;
            const style = getComputedStyle(element), under = ground(element);
            const ink = element.closest("svg") ? style.fill : style.color;
            found.set(`${ink} on ${under}`, [paint(ink, under), paint(under, "white"),
                                             element.outerHTML.slice(0, 120)]);
        }
        return [...found.values()];
    }"""
    )
    assert len(pairs) >= 4
    poor = [(round(_contrast(a, b), 2), what) for a, b, what in pairs if _contrast(a, b) < 4.5]
    assert poor == []


def test_print_shows_everything_and_no_controls(visit):
    page = visit(color_scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    hidden = page.evaluate(
        """() => ["nav", ".theme", "summary"].map(
            (query) => getComputedStyle(document.querySelector(query)).display)"""
    )
    assert hidden == ["none", "none", "none"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() > 0
