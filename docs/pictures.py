"""Makes the pictures of README and manual from the real thing: the tutorial's model in the page, and the frontier of a fit.

    python docs/pictures.py target/release/tamis      # needs playwright and chromium (tests/browser/requirements.txt)
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
LETTER = "Hello, the coffee grinder arrived broken. Please send my money back; you charged my card twice for it."


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *words: subprocess.run([program, *words], cwd=folder, check=True)  # noqa: E731
        shutil.copy(ROOT / "examples/mail.csv", folder)
        run("fit", "mail.csv", "-o", "mail.model", "-q", "--terms", "words")
        run("synth", "topics.jsonl", "-n", "1500")
        run("fit", "topics.jsonl", "-o", "topics.model", "-q", "--effort", "quick")
        server = subprocess.Popen([program, "serve", "mail.model", "topics.model", "--port", "0"], cwd=folder, stderr=subprocess.PIPE, text=True)
        address = next(found[1] for line in server.stderr if (found := re.search(r"on (http://[0-9.:]+)/", line)))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox", "--disable-gpu"])
                page = browser.new_page(viewport={"width": 1200, "height": 860})
                page.goto(f"{address}/")
                page.locator("#text").fill(LETTER)
                page.locator("#sum").wait_for()
                page.wait_for_timeout(500)
                page.screenshot(path=ROOT / "docs/page.png")
                page.goto(f"{address}/#/model?model=topics")
                plot = page.locator(".plot")
                plot.wait_for()
                page.wait_for_timeout(300)
                plot.screenshot(path=ROOT / "docs/frontier.png")
                browser.close()
        finally:
            server.terminate()
            server.wait(60)


main()
