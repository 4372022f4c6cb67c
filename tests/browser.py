"""Asks a page in a real browser: what it shows, and that nothing fails and nothing is loaded.

A program is put in front of the page that notes errors and requests, and another behind it that
clicks. They send what they found to the document around the page's frame, which is as wide as a
screen and which headless Chromium prints.
"""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
IN_BROWSER = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER, reason="no Chromium found (Debian's package: chromium)"),
]


BEFORE = """<script>
window.wrong = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"])
  addEventListener(kind, (event) => wrong.push(kind + ": " + (event.message || event.blockedURI)));
for (const kind of ["error", "warn"]) console[kind] = (...words) => wrong.push(words.join(" "));
</script>"""
AFTER = """<script>
const found = (() => { %s })();
parent.postMessage(JSON.stringify({
  found, wrong, requests: performance.getEntriesByType("resource").map((entry) => entry.name),
  width: document.documentElement.scrollWidth, window: innerWidth, title: document.title,
}), "*");
</script>"""
AROUND = """<!DOCTYPE html><iframe src="asked.html" width="%d" height="900" style="border:0">
</iframe>
<pre id="found"></pre>
<script>onmessage = (event) => document.getElementById("found").textContent = event.data;</script>
"""
SHOWN = "const shown = (all) => [...all].filter((one) => one.offsetParent !== null);"


def ask(page: Path, program: str, width: int = 1280, title: str = "") -> dict:
    """Return what a program that is run in the page returns, and what was noted meanwhile.

    Args:
        page: written beside the documents that are made for asking.
        width: of the screen, in pixels.
        title: how the page's title must begin, whatever its data say.
    """
    source = page.read_text().replace("<head>", f"<head>{BEFORE}", 1)
    assert source.count("</body>") == 1
    asked = page.with_name("asked.html")
    around = page.with_name("around.html")
    around.write_text(AROUND % width)
    asked.write_text(source.replace("</body>", f"{AFTER % (SHOWN + program)}</body>"))
    printed = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
            "--virtual-time-budget=5000",
            f"--user-data-dir={page.parent / 'profile'}",
            "--disable-background-networking",
            "--no-first-run",
            around.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    ).stdout
    answer = re.search(r'<pre id="found">(.+?)</pre>', printed, re.S)
    assert answer, printed[-2000:]
    told = json.loads(answer[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert told["wrong"] == [] and told["requests"] == []
    assert told["title"].startswith(title), "a text of the data was run"
    return told
