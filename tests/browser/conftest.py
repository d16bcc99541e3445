"""A real server on loopback and a real browser.

    TAMIS_BIN=target/debug/tamis python -m pytest tests/browser

Screenshots are kept in target/screenshots.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.request

import pytest

import corpus

TAMIS = os.environ.get("TAMIS_BIN")
ROOT = pathlib.Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def pytest_collection_modifyitems(items):
    """Without the program every test is skipped, and says why."""
    if not TAMIS:
        missing = pytest.mark.skip(reason="TAMIS_BIN is not set: build tamis and name the program with it")
        for item in items:
            item.add_marker(missing)


@contextlib.contextmanager
def serving(*arguments, env=None):
    """`tamis serve` on a free port; gives its address, and ends it as an operator would."""
    process = subprocess.Popen(
        [TAMIS, "serve", *map(str, arguments), "--port", "0", "--drain", "0.1"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        for line in process.stderr:
            if found := re.search(r"on (http://[0-9.:]+)/", line):
                break
        else:
            raise AssertionError(f"the server ended with {process.wait()}")
        yield found[1]
    finally:
        process.send_signal(signal.SIGTERM)
        _, rest = process.communicate(timeout=60)
        assert process.returncode == 0, rest
        assert "mistake in tamis" not in rest and "panicked" not in rest, rest


def ask(url, body=None, headers=None):
    """JSON in, JSON out."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A flat model with thresholds, one along a taxonomy, and one of neighbours."""
    folder = tmp_path_factory.mktemp("models")
    corpus.write(folder / "news.jsonl")

    def fit(name, *arguments):
        command = [TAMIS, "fit", folder / "news.jsonl", "-o", folder / f"{name}.model", "--quiet", *arguments]
        subprocess.run(command, check=True)
        return folder / f"{name}.model"

    common = ["--by", "chi2max", "--features", "80", "--folds", "3"]
    return {
        "news": fit("news", *common, "--classifier", "svm", "--calibrate", "platt"),
        "tree": fit("tree", *common, "--classifier", "svm", "--taxonomy", "names"),
        "neighbours": fit("neighbours", *common, "--classifier", "knn(15)"),
    }


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    """The report of a study; the demo writes one of the same kind in seconds."""
    folder = tmp_path_factory.mktemp("study")
    page = "<!doctype html><html lang=en><title>Study</title><style>h1{color:green}</style><h1>Which words</h1>"
    (folder / "report.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def server(models, study):
    with serving(models["news"], models["tree"], models["neighbours"], "--study", study) as address:
        yield address


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    if not CHROMIUM:
        pytest.fail("no chromium found: apt-get install chromium (cargo xtask test does it when it runs as root)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def shots():
    folder = ROOT / "target/screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def open_page(browser, server):
    """Opens the page; whatever the browser complains about fails the test."""
    with contextlib.ExitStack() as stack:

        def opened(address=None, path="/", expect_errors=False, **options):
            options = {"viewport": {"width": 1280, "height": 900}, **options}
            context = browser.new_context(**options)
            stack.callback(context.close)
            page = context.new_page()
            complaints = []
            page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
            page.on("console", lambda m: complaints.append(f"console: {m.text}") if m.type == "error" else None)
            outside = []
            base = address or server
            page.on("request", lambda r: None if r.url.startswith(base) else outside.append(r.url))

            def quiet():
                assert not outside, f"the page reached out: {outside}"
                assert expect_errors or not complaints, complaints

            stack.callback(quiet)
            page.goto(base + path)
            page.complaints = complaints
            return page

        yield opened
