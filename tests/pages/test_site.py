"""The documentation site: it is built without a warning, whole, and asks nothing of the network."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import browser
from docs import ROOT, pages
from docs_site import CONFIG, PAGES, build_site, relink

LOADED = {"script": "src", "img": "src", "source": "src", "video": "src", "iframe": "src", "link": "href"}
"""What a browser loads of a page by itself."""


class Parsed(HTMLParser):
    """A page's ids, what it links to, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values.get("id", ""), values.get("name", "")}
        if tag == "a" and "href" in values:
            self.links.add(values["href"])
        # A link that only says where the page is at home is not loaded.
        if tag in LOADED and LOADED[tag] in values and values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.add(values[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="needs Zensical, which the extra `docs` installs for Python 3.11 or newer")
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def parsed(site: Path) -> dict[Path, Parsed]:
    return {path: Parsed(path) for path in sorted(site.rglob("*.html"))}


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
def test_it_is_built_with_every_page_and_asks_nothing_of_others(parsed: dict[Path, Parsed], site: Path) -> None:
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in parsed}
    assert built == {*PAGES, "commands.md", "404.md"}
    assert all(len(page.links) > 10 for page in parsed.values())
    loaded = {link for page in parsed.values() for link in page.loaded}
    assert loaded and not [link for link in loaded if urlsplit(link).netloc]
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    urls = [url for style in styles for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", style)]
    assert styles and not [url for url in urls if urlsplit(url).netloc]
    # The pages of the API end with the reference.
    api = [path for path in parsed if path.parent.name == "api"]
    assert len(api) > 10 and all("reference" in parsed[path].ids for path in api)


@pytest.mark.slow
def test_every_link_leads_somewhere(parsed: dict[Path, Parsed]) -> None:
    broken = []
    for path, page in parsed.items():
        for link in page.links | page.loaded:
            target = urlsplit(link)
            if target.scheme or target.netloc or path.name == "404.html":
                continue
            found = (path.parent / unquote(target.path)).resolve() if target.path else path
            found = found / "index.html" if found.is_dir() else found
            if not found.exists() or (target.fragment and unquote(target.fragment) not in parsed[found].ids):
                broken.append(f"{path.name}: {link}")
    assert not broken, broken


@pytest.mark.browser
def test_a_reader_searches_and_only_the_site_is_asked(site: Path, tmp_path: Path) -> None:
    with served(site) as address, browser(tmp_path, (1400, 1000)) as driver:
        from selenium.webdriver import ActionChains
        from selenium.webdriver.support.ui import WebDriverWait

        def loaded() -> list[str]:
            script = "return performance.getEntriesByType('resource').map(entry => entry.name)"
            return [str(name) for name in driver.execute_script(script)]

        for page in ("benchmarks/mvp.html", "commands.html", "index.html"):
            driver.get(f"{address}/{page}")
            assert driver.find_element("css selector", "h1").is_displayed()
            assert loaded() and all(name.startswith((address, "data:", "blob:")) for name in loaded())
        driver.find_element("css selector", ".md-search__button").click()
        ActionChains(driver).pause(0.5).send_keys("McNemar").perform()
        # What is found stands in a shadow tree.
        found = "return [...document.querySelectorAll('*')].map(one => one.shadowRoot?.textContent ?? '').join(' ')"
        WebDriverWait(driver, 20).until(lambda _: "Statistics" in driver.execute_script(found))
        assert all(name.startswith((address, "data:", "blob:")) for name in loaded())
        assert driver.get_log("browser") == []


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server of a folder."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
