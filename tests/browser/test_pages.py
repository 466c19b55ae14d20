"""Pages in a browser, if chromium and chromium-driver (Debian) are installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pages import made_run
from phasefit.report.page.run_page import write_run_page

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
EVIL = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "שלום <b>עולם</b>"]

pytestmark = [
    pytest.mark.pictures,
    pytest.mark.skipif(
        CHROMIUM is None or DRIVER is None,
        reason="chromium and chromedriver are not installed (Debian: chromium-driver)",
    ),
]
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install 'phasefit[dev]')")
wait = pytest.importorskip("selenium.webdriver.support.wait")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a run with malicious texts and classes."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_run_page(path, made_run("single", EVIL, EVIL))
    return path.as_uri()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    from phasefit.studies.page import write_study_page

    path: Path = tmp_path_factory.mktemp("study") / "report.html"
    write_study_page(path, study_content())
    return path.as_uri()


def study_content() -> dict[str, Any]:
    names = ["finetune", EVIL[0]]
    rows = [
        {"dataset": data, "variant": name, "n": 3, "mean": mean, "low": mean - 0.02, "high": mean + 0.02, "note": ""}
        for data in ("snips", "trec")
        for name, mean in zip(names, (0.8, 0.9), strict=True)
    ]
    cells = [
        {**row, "seed": seed, "fold": None, "score": row["mean"], "minutes": 1.0 + seed}
        for row in rows
        for seed in (0, 1)
    ]
    lines = [{"name": name, "points": [[10, 0.5, 0.4, 0.6], [20, 0.7, None, None]]} for name in names]
    curve = {"title": "gain", "x_title": "rows", "y_title": "accuracy", "lines": lines}
    return {
        "title": EVIL[1], "command": "phasefit compare", "metric": "accuracy", "notes": [EVIL[0]], "environment": {},
        "tables": [{"title": "t", "metric": "accuracy", "rows": rows}], "cells": cells, "curves": [curve],
    }  # fmt: skip


def show(browser: Any, address: str, width: int = 1600, scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(address)
    ready = "return phasefitCharts.all.every((s) => s.chart || !s.canvas.clientWidth)"
    wait.WebDriverWait(browser, 20).until(lambda it: it.execute_script(ready))


@pytest.mark.parametrize("which", ["page", "study"])
@pytest.mark.parametrize("width", [390, 1600])
def test_no_errors_no_requests_and_no_overflow(
    browser: Any, request: pytest.FixtureRequest, which: str, width: int
) -> None:
    address = request.getfixturevalue(which)
    show(browser, address, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = {e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith("data:")} == {address}
    unnamed = "return [...document.querySelectorAll('.canvas')].filter((c) => !c.getAttribute('aria-label')).length"
    assert browser.execute_script(unnamed) == 0
    assert browser.execute_script("return phasefitCharts.all.every((s) => s.canvas.querySelector('svg path'))")


def test_malicious_texts_are_shown_as_text(browser: Any, page: str) -> None:
    show(browser, page)
    text = browser.execute_script("return document.querySelector('main').textContent")
    assert all(evil in text for evil in EVIL)
    assert browser.execute_script("return document.querySelectorAll('main img, main b').length") == 0
    hover = """
      const state = phasefitCharts.all.find((s) => s.spec.stages);
      state.chart.dispatchAction({type: 'showTip', seriesIndex: 0, dataIndex: 0});
    """
    browser.execute_script(hover)
    tip = wait.WebDriverWait(browser, 5).until(
        lambda it: it.execute_script("return document.querySelector('.tip')?.textContent")
    )
    assert any(evil in tip for evil in EVIL)
    assert browser.execute_script("return document.querySelectorAll('.tip img, .tip b, .tip script').length") == 0


def test_the_slider_moves_by_keyboard_and_announces_the_stage(browser: Any, page: str) -> None:
    show(browser, page)
    slider, output = (browser.find_element("css selector", name) for name in ("#stage", ".stages output"))
    assert "After finetune" in output.text
    at = "return JSON.stringify(phasefitCharts.all.find((s) => s.spec.stages).chart.getOption().series[0].data)"
    before = browser.execute_script(at)
    slider.send_keys(webdriver.Keys.ARROW_LEFT)
    assert "After contrast" in output.text
    assert slider.get_attribute("aria-valuetext") == "After contrast"
    assert output.get_attribute("aria-live") == "polite"
    assert browser.execute_script(at) != before
    slider.send_keys(webdriver.Keys.HOME)
    assert "Before training" in output.text


def test_tables_are_sorted_by_keyboard(browser: Any, page: str) -> None:
    show(browser, page)
    head = browser.find_elements("css selector", "#classes thead th")[3]
    button = head.find_element("css selector", "button")
    column = "return [...document.querySelectorAll('#classes tbody tr')].map((r) => Number(r.cells[3].dataset.sort))"
    button.send_keys(webdriver.Keys.ENTER)
    assert head.get_attribute("aria-sort") == "descending"
    values = browser.execute_script(column)
    assert values == sorted(values, reverse=True)
    button.send_keys(webdriver.Keys.ENTER)
    assert head.get_attribute("aria-sort") == "ascending"
    assert browser.execute_script(column) == sorted(values)


def test_the_legend_hides_classes(browser: Any, page: str) -> None:
    show(browser, page)
    button = browser.find_element("css selector", ".chart.map .legend button")
    button.send_keys(webdriver.Keys.SPACE)
    assert button.get_attribute("aria-pressed") == "false"
    shown = "return phasefitCharts.all.find((s) => s.spec.stages).chart.getOption().legend[0].selected.s0"
    assert browser.execute_script(shown) is False


def test_light_and_dark_by_preference_and_by_button(browser: Any, page: str) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    ink = "return document.querySelector('.canvas svg text')?.getAttribute('fill')"
    show(browser, page, scheme="light")
    light = browser.execute_script(paper), browser.execute_script(ink)
    show(browser, page, scheme="dark")
    dark = browser.execute_script(paper), browser.execute_script(ink)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    browser.find_element("css selector", "#theme").send_keys(webdriver.Keys.ENTER)
    assert (browser.execute_script(paper), browser.execute_script(ink)) == light


def test_the_first_key_leads_to_the_content(browser: Any, page: str) -> None:
    show(browser, page)
    browser.find_element("css selector", "body").send_keys(webdriver.Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("href").endswith("#content")
