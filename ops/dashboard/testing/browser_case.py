"""A headless Chromium on the stand-in node. Whatever the console says against the page fails the test."""

import os
import pathlib
import unittest
import urllib.parse

import axe_playwright_python
import stand_in_node
from playwright.sync_api import expect, sync_playwright

AXE = pathlib.Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text()
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 400, "height": 860}
SLOW, LINKS, HUNG, HEALTHY = (
    "llama3-70b-pretrain",
    "mixtral-8x22b-moe-sft",
    "gpt-neox-20b-resume",
    "vit-h14-ablation-07",
)
MANY, ENDED = "frontier-moe-1t", "resnet50-smoke"

expect.set_options(timeout=20_000)


def hash_of(job, *rest, **query):
    parts = "/".join(["#/job", urllib.parse.quote(job, safe=""), *map(str, rest)])
    return parts + ("?" + urllib.parse.urlencode(query) if query else "")


class BrowserCase(unittest.TestCase):
    token = None

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(
            executable_path=os.environ["EROICA_CHROMIUM"],
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.node = stand_in_node.StandInNode(token=self.token).start()
        self.addCleanup(lambda: self.node.stop())
        self.complaints, self.tolerated, self.foreign = [], (), []

    def open(self, address="#/jobs", viewport=None, theme="light", **options):
        context = self.browser.new_context(
            viewport=viewport or DESK, color_scheme=theme, bypass_csp=False, **options
        )
        self.addCleanup(context.close)
        page = context.new_page()
        page.on("console", lambda message: self.complain(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on(
            "dialog", lambda dialog: (self.complaints.append("a dialog opened"), dialog.dismiss())
        )
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((self.node.url, "data:"))
                else self.foreign.append(request.url)
            ),
        )
        page.goto(self.node.url + address)
        return page

    def complain(self, kind, text):
        if kind in ("error", "warning") and not any(one in text for one in self.tolerated):
            self.complaints.append(f"{kind}: {text}")

    def tearDown(self):
        self.assertEqual(self.complaints, [])
        self.assertEqual(self.foreign, [], "something was loaded from elsewhere")

    def settle(self, page):
        """Nothing is loading any more, charts are drawn."""
        page.wait_for_function(
            "() => document.querySelector('main h1') && !document.querySelector('.skeleton')"
            " && [...document.querySelectorAll('.section')].every(one => one.childElementCount > 0)"
        )
        page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )

    def check_accessibility(self, page, what):
        # In a world of its own: the page's policy allows no script but its files.
        page.evaluate(AXE)
        outcome = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        violations = [
            f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
            for one in outcome["violations"]
        ]
        self.assertEqual(violations, [], what)

    def check_width(self, page, what):
        wide = page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        self.assertLessEqual(wide, 0, f"{what} scrolls sideways")
