"""The page of `phasefit serve` in a browser, if chromium and chromium-driver (Debian) are installed."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phasefit.explain import TrainingTexts, TrainingVectors
from phasefit.models.predictor import Predictor
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Models
from phasefit.serve.server import Address, make_server
from phasefit.serve.service import Service
from served import TEXTS, made_model

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
EVIL = "<img src=x onerror=alert(1)> rain"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="chromium and chromedriver are not installed (Debian: chromium-driver)"
)
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (pip install 'phasefit[dev]')")
wait = pytest.importorskip("selenium.webdriver.support.wait")


@pytest.fixture(scope="module")
def service(tiny_folder: Path) -> Service:
    """A model of several tasks and one that withholds every answer."""
    kinds = ("single", "multi", "levels", "pairs")
    models: dict[str, Predictor] = {
        "tasks": made_model(tiny_folder, kinds),
        "shy": made_model(tiny_folder, reject=0.999),
    }

    def training(path: Path, predictor: Predictor) -> dict[str, Any]:
        texts = TrainingTexts((EVIL, *TEXTS), ("evil", "b", "c", "d", "e"), 5)
        return {"single": TrainingVectors(predictor, texts)} if "single" in predictor.heads else {}

    paths = {name: Path(name) for name in models}
    return Service(Models(paths, lambda path: models[str(path)], Limits(), training), Limits())


@pytest.fixture(scope="module")
def address(service: Service) -> Iterator[str]:
    listener, server = Address(port=0).bind(), make_server(service)
    service.start()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server.should_exit = True
    thread.join()
    service.stop()
    listener.close()


def show(browser: Any, address: str, width: int = 1000, scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get(address)
    until(browser, "return document.activeElement.id === 'text'")


def until(browser: Any, script: str) -> Any:
    return wait.WebDriverWait(browser, 30).until(lambda it: it.execute_script(script))


def choose(browser: Any, model: str) -> None:
    script = "const s = document.getElementById('model'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    browser.execute_script(script, model)


def write_and_send(browser: Any, *texts: str) -> None:
    for field, text in zip(("text", "other"), texts, strict=False):
        browser.find_element("id", field).send_keys(text)
    browser.find_element("id", "text").send_keys(webdriver.Keys.CONTROL, webdriver.Keys.ENTER)
    until(browser, "return document.getElementById('explanations').children.length > 0")


def text_of(browser: Any, identifier: str) -> str:
    return str(browser.execute_script(f"return document.getElementById('{identifier}').textContent"))


@pytest.mark.parametrize("width", [360, 1000])
def test_a_text_gets_classes_words_and_training_texts(browser: Any, address: str, service: Service, width: int) -> None:
    show(browser, address, width)
    write_and_send(browser, EVIL)
    model = service.models.all[0].predictor
    assert text_of(browser, "answer") == model.predict([EVIL], task="single")[0]
    script = "return [...document.querySelectorAll('#classes .number')].map((one) => one.textContent)"
    numbers = browser.execute_script(script)
    shares = sorted(model.predict_proba([EVIL], task="single")[0].tolist(), reverse=True)
    assert numbers == [f"{100 * share:.1f} %" for share in shares]
    assert EVIL in text_of(browser, "explanations")
    assert EVIL in text_of(browser, "neighbours")
    assert browser.execute_script("return document.querySelectorAll('main img').length") == 0
    assert browser.execute_script("return document.querySelectorAll('#explanations mark').length") > 2
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


def test_every_kind_of_answer(browser: Any, address: str, service: Service) -> None:
    model = service.models.all[0].predictor
    show(browser, address)
    choose(browser, "tasks/multi")
    write_and_send(browser, TEXTS[0])
    labels = sorted(model.predict([TEXTS[0]], task="multi")[0])
    assert text_of(browser, "answer") == (", ".join(labels) or "None of the labels")
    show(browser, address)
    choose(browser, "tasks/levels")
    write_and_send(browser, TEXTS[0])
    assert text_of(browser, "answer") == model.predict([TEXTS[0]], task="levels")[0]
    show(browser, address)
    choose(browser, "tasks/pairs")
    write_and_send(browser, TEXTS[0], TEXTS[1])
    assert text_of(browser, "answer") == model.predict([(TEXTS[0], TEXTS[1])], task="pairs")[0]
    show(browser, address)
    choose(browser, "shy")
    write_and_send(browser, TEXTS[0])
    assert text_of(browser, "answer") == "No confident prediction"
    assert "withheld" in text_of(browser, "note")
    assert browser.get_log("browser") == []


def test_errors_are_shown_and_announced(browser: Any, address: str) -> None:
    show(browser, address)
    browser.find_element("id", "run").send_keys(webdriver.Keys.ENTER)
    assert text_of(browser, "error") == "Enter a text."
    assert browser.find_element("id", "error").get_attribute("role") == "alert"
    script = "document.getElementById('text').value = 'x'.repeat(30000)"
    browser.execute_script(script)
    browser.find_element("id", "run").send_keys(webdriver.Keys.ENTER)
    until(browser, "return document.getElementById('error').textContent.includes('--max-characters')")


def test_everything_can_be_reached_by_keyboard_and_has_a_name(browser: Any, address: str) -> None:
    show(browser, address)
    order = []
    for _ in range(4):
        browser.switch_to.active_element.send_keys(webdriver.Keys.TAB)
        active = browser.switch_to.active_element
        order.append(active.get_attribute("id") or active.text)
    assert order == ["run", "Models and limits", "OpenAPI", "Metrics"]  # after the text, which has the focus
    browser.find_element("id", "text").send_keys(webdriver.Keys.SHIFT, webdriver.Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "model"
    for field in ("model", "text", "other"):
        assert browser.execute_script(f"return document.querySelector('label[for={field}]').textContent.length") > 0
    assert browser.execute_script("return document.getElementById('results').getAttribute('aria-live')") == "polite"


def test_light_and_dark(browser: Any, address: str) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    show(browser, address, scheme="light")
    light = browser.execute_script(paper)
    show(browser, address, scheme="dark")
    assert browser.execute_script(paper) != light


def test_the_policy_permits_only_its_own_code(browser: Any, address: str) -> None:
    show(browser, address)
    script = "const s = document.createElement('script'); s.textContent = 'window.bad = 1'; document.body.append(s);"
    browser.execute_script(script)
    assert browser.execute_script("return window.bad") is None
    assert any("Content Security Policy" in entry["message"] for entry in browser.get_log("browser"))
