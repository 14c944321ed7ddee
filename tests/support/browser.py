"""Debian's Chromium without a window, for tests of pages; a machine without it skips them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.support.ui import Select, WebDriverWait

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage --mute-audio"
)


@contextmanager
def browser(profile: Path, size: tuple[int, int] = (1280, 1000)) -> Iterator[Any]:
    """A driver of a fresh browser with a window of a size; its profile is a new folder."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("needs chromium and chromedriver, Debian's packages chromium and chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS.split(), f"--window-size={size[0]},{size[1]}", f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()


class Page:
    """A page of ours in a browser, once it has set a mark."""

    def __init__(self, driver: Any, path: Path, mark: str = "items-shown") -> None:
        self.driver, self.mark = driver, mark
        self.open(path.as_uri())

    def open(self, address: str) -> None:
        """Open an address in a new document, as a link does."""
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait_shown()

    def wait_shown(self) -> None:
        self.wait("return performance.getEntriesByName(arguments[0]).length > 0", self.mark)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def each(self, selector: str, expression: str) -> list[Any]:
        """The value of an expression of `e` for each element."""
        return list(self.run(f"return [...document.querySelectorAll(arguments[0])].map(e => {expression})", selector))

    def texts(self, selector: str) -> list[str]:
        return self.each(selector, "e.textContent")

    @contextmanager
    def sized(self, width: int, height: int = 900, **media: Any) -> Iterator[None]:
        """The page in a window of another size, or on another medium."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        no_media = {"media": "", "features": []}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {**no_media, **media})
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", no_media)
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def wait(self, script: str, *arguments: Any, seconds: float = 60) -> Any:
        """What a script returns, once that is true."""
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: self.run(script, *arguments))

    def choose(self, control: str, text: str) -> None:
        """Choose an option of a filter by its text."""
        Select(self.driver.find_element("css selector", control)).select_by_visible_text(text)

    def press(self, *keys: str) -> None:
        """Press keys with the focus on the list."""
        self.driver.find_element("id", "list").send_keys(*keys)

    @property
    def item(self) -> str:
        """Id of the item that is shown."""
        return str(self.run("return document.querySelector('#detail h3')?.textContent"))

    @property
    def counted(self) -> str:
        """How many items fit the filters."""
        return str(self.run("return document.getElementById('count').textContent"))

    @property
    def complaints(self) -> list[Any]:
        """What the browser's console holds."""
        return list(self.driver.get_log("browser"))


class Asked(Page):
    """An annotator's page, at its first question unless it is not to be `begun`."""

    def __init__(self, driver: Any, path: Path, begun: bool = True) -> None:
        super().__init__(driver, path, "item-shown")
        if begun:
            self.run("if (!document.getElementById('opening').hidden) document.getElementById('begin').click()")

    def press(self, *keys: str) -> None:
        ActionChains(self.driver).send_keys(*keys).perform()

    def press_together(self, held: str, key: str) -> None:
        ActionChains(self.driver).key_down(held).send_keys(key).key_up(held).perform()

    @property
    def question(self) -> str:
        return str(self.run("return document.querySelector('legend').textContent"))

    @property
    def screen(self) -> str:
        """Which part of the page is in sight."""
        parts = "return ['opening', 'closing', 'form'].filter(id => document.getElementById(id).checkVisibility())"
        [shown] = self.run(parts)
        return str(shown)

    @property
    def file(self) -> dict[str, Any]:
        """What the answer file has."""
        return dict(json.loads(self.run("return answersText()")))
