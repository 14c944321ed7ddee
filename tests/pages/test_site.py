"""The documentation site: it is built without a warning, whole, and asks nothing of the network."""

from __future__ import annotations

import http.server
import re
import threading
from functools import partial
from pathlib import Path

import pytest
from browser import browser
from docs import ROOT, pages
from docs_site import CONFIG, PAGES, build_site, relink
from selenium.webdriver import ActionChains
from selenium.webdriver.support.ui import WebDriverWait

LOADED = re.compile(r"""<(?:script|img|source|video|iframe|link)\b[^>]*?\b(?:src|href)=["']?([^"' >]+)[^>]*>""")
"""What a browser loads of a page by itself; a link may also only say what page comes next, or where this one lies."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; its generator fails at a link that leads nowhere."""
    pytest.importorskip("zensical", reason="needs Zensical, which the extra `docs` installs for Python 3.11 or newer")
    return build_site(tmp_path_factory.mktemp("site"))


def test_every_page_has_its_place() -> None:
    assert set(PAGES.values()) == set(pages())
    navigation = CONFIG.read_text(encoding="utf-8").partition("\nnav = [")[2].partition("\n]")[0]
    named = re.findall(r'"([\w/]+\.md)"', navigation)
    assert sorted(named) == sorted([*PAGES, "commands.md"]), "Each page stands once in the navigation of zensical.toml."


def test_links_are_those_of_the_site() -> None:
    page = ROOT / "lmms_eval_tasks/mvp/README.md"
    text = "[a](card.py) [b](../../docs/views.md#captions) ![c](../../docs/report.png) [d](https://x.org) [e](#data)"
    changed = "a [b](../views.md#captions) ![c](../report.png) [d](https://x.org) [e](#data)"
    assert relink(text, page) == changed
    assert relink(f"```\n{text}\n```\n[h](../causalvqa/README.md)", page) == f"```\n{text}\n```\n[h](causalvqa.md)"


@pytest.mark.slow
def test_it_is_built_with_every_page_and_loads_nothing_of_others(site: Path) -> None:
    texts = {path.relative_to(site): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {path.with_suffix(".md").as_posix() for path in texts} == {*PAGES, "commands.md", "404.md"}
    found = [one for text in texts.values() for one in LOADED.finditer(text)]
    loaded = {one[1] for one in found if not re.search(r"rel=.?(canonical|next|prev)\b", one[0])}
    for path in site.rglob("*.css"):
        loaded |= set(re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", path.read_text(encoding="utf-8")))
    assert len(loaded) > 10 and not [address for address in loaded if re.match(r"(\w+:)?//", address)]
    # The pages of the API end with the reference.
    api = [text for path, text in texts.items() if path.parent.name == "api"]
    assert len(api) > 10 and all('id="reference"' in text for text in api)


@pytest.mark.browser
@pytest.mark.nightly
def test_a_reader_searches_and_only_the_site_is_asked(site: Path, tmp_path: Path) -> None:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server,
        browser(tmp_path, (1400, 1000)) as driver,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"

        def loads_of_others() -> list[str]:
            names = driver.execute_script("return performance.getEntriesByType('resource').map(entry => entry.name)")
            assert names
            return [name for name in names if not name.startswith((address, "data:", "blob:"))]

        for page in ("benchmarks/mvp.html", "commands.html", "index.html"):
            driver.get(f"{address}/{page}")
            assert driver.find_element("css selector", "h1").is_displayed() and not loads_of_others()
        driver.find_element("css selector", ".md-search__button").click()
        ActionChains(driver).pause(0.5).send_keys("McNemar").perform()
        # What is found stands in a shadow tree.
        found = "return [...document.querySelectorAll('*')].map(one => one.shadowRoot?.textContent ?? '').join(' ')"
        WebDriverWait(driver, 20).until(lambda _: "Statistics" in driver.execute_script(found))
        assert not loads_of_others() and driver.get_log("browser") == []
        server.shutdown()
