"""Every page, light on a desk and dark on a phone (themes do not depend on the width): it says what
it must, nothing complains, axe finds nothing, and a picture of it is kept."""

import os
import pathlib
import unittest

from browser_case import (
    DESK,
    ENDED,
    HEALTHY,
    HUNG,
    LINKS,
    MANY,
    PHONE,
    SLOW,
    BrowserCase,
    expect,
    hash_of,
)
from made_up_cluster import HOSTILE

SCREENSHOTS = pathlib.Path(os.environ.get("EROICA_SCREENSHOTS", "screenshots"))
LOOKS = [("light", DESK), ("dark", PHONE)]


class Pages(BrowserCase):
    def finding_of(self, job):
        return self.node.jobs[job].findings[0]["id"]

    def look_at(self, name, address, *texts):
        for theme, viewport in LOOKS:
            what = f"{name}-{theme}-{viewport['width']}"
            with self.subTest(what):
                page = self.open(address, viewport, theme)
                self.settle(page)
                for text in texts:
                    expect(page.locator("main")).to_contain_text(text)
                self.check_width(page, what)
                self.check_accessibility(page, what)
                page.screenshot(path=SCREENSHOTS / f"{what}.png", full_page=True)
                page.context.close()

    def test_jobs(self):
        self.look_at(
            "jobs",
            "#/jobs",
            SLOW,
            "1 critical",
            "18.6 of 64 GPUs",
            "Rank 17 holds 63 other ranks up",
        )

    def test_findings(self):
        self.look_at("findings", "#/findings", "The NIC of rank 9", "acknowledged by night-shift")

    def test_node(self):
        self.look_at("node", "#/node", "✓ ready", "summarize")

    def test_job(self):
        self.look_at(
            "job", hash_of(SLOW), "Rank 17 holds 63", "Step time", "1 resolved finding", "148 ms"
        )

    def test_healthy_job(self):
        self.look_at("job-healthy", hash_of(HEALTHY), "Nothing holds this job up")

    def test_ended_job(self):
        self.look_at("job-ended", hash_of(ENDED), "ended", "No steps are held")

    def test_finding(self):
        self.look_at(
            "finding",
            hash_of(SLOW, "finding", self.finding_of(SLOW)),
            "What to do next",
            "rank 17",
            "36.8 ms",
            "busy time per step",
            "63 ranks wait in the end for rank 17",
            "< 500 µs",
            "> +36.3 ms",
            "16.0 of 64 GPUs",
        )

    def test_finding_of_a_link(self):
        self.look_at(
            "finding-link",
            hash_of(LINKS, "finding", self.finding_of(LINKS)),
            "1.86 GB/s",
            "5.63 GB/s",
            "Ticket NET-4411",
        )

    def test_finding_of_a_hang(self):
        self.look_at(
            "finding-hang",
            hash_of(HUNG, "finding", self.finding_of(HUNG)),
            "16.0 of 16 GPUs",
            "silent in this window",
        )

    def test_finding_of_many(self):
        self.look_at(
            "finding-10000",
            hash_of(MANY, "finding", self.finding_of(MANY)),
            "8 ranks on node0512",
            "in the end for ranks 4,096, 4,097, 4,098 and 5 more",
            "9,992 ranks held up",
        )

    def test_finding_that_blames_nobody(self):
        regression = self.node.jobs[SLOW].findings[1]["id"]
        self.look_at(
            "finding-regression",
            hash_of(SLOW, "finding", regression),
            "Before",
            "nobody is to blame",
        )

    def test_resolved_finding(self):
        resolved = self.node.jobs[SLOW].findings[2]["id"]
        self.look_at(
            "finding-resolved", hash_of(SLOW, "finding", resolved), "its last window, steps-54"
        )

    def test_heat_map(self):
        self.look_at("heatmap", hash_of(SLOW, "heatmap"), "What stands out most", "+36.4 ms")

    def test_heat_map_of_many(self):
        self.look_at("heatmap-10000", hash_of(MANY, "heatmap"), "all 10,000 ranks", "rank 8,191")

    def test_ranks(self):
        self.look_at("ranks", hash_of(SLOW, "ranks"), "rank 17", "+35.")

    def test_rank(self):
        self.look_at("rank", hash_of(SLOW, "rank", 17), "Rank 17", "node0002", "< 500 µs", "> +36.3 ms")

    def test_functions(self):
        self.look_at(
            "functions",
            hash_of(SLOW, "functions"),
            "tokenizer.py(118): normalize_unicode",
            "36.8 ms",
        )

    def test_function(self):
        function = self.node.jobs[SLOW].functions[-1].id
        self.look_at(
            "function", hash_of(SLOW, "function", function), "Slowest for their role", "+36.4 ms"
        )

    def test_waits(self):
        self.look_at(
            "waits", hash_of(SLOW, "waits"), "63 ranks wait in the end for rank 17", "pp_forward"
        )

    def test_links(self):
        self.look_at("links", hash_of(LINKS, "links"), "Slowest for their kind", "67 %", "1,840")

    def test_quality(self):
        self.look_at(
            "quality", hash_of(MANY, "quality"), "2 ranks did not report", "48,210 events lost"
        )

    def test_hostile_job(self):
        self.look_at("hostile", hash_of(HOSTILE), "\\u202eevil", "<img src=x onerror=alert(1)>")

    def test_hostile_finding(self):
        self.look_at(
            "hostile-finding", hash_of(HOSTILE, "finding", self.finding_of(HOSTILE)), "\\x1b[2J"
        )

    def test_hostile_heat_map(self):
        self.look_at("hostile-heatmap", hash_of(HOSTILE, "heatmap"), "kernel_AAA")

    def test_functions_of_one_name_carry_their_callers(self):
        for tab in ("heatmap", "functions"):
            page = self.open(hash_of(HOSTILE, tab))
            for caller in ("train_step", "next_batch"):
                expect(page.locator("main")).to_contain_text(f"{caller} › مرحبا بالعالم")

    def test_hostile_names_become_no_markup(self):
        addresses = [
            hash_of(HOSTILE),
            hash_of(HOSTILE, "heatmap"),
            hash_of(HOSTILE, "rank", 2),
            hash_of(HOSTILE, "waits"),
            hash_of(HOSTILE, "ranks"),
            hash_of(HOSTILE, "finding", self.finding_of(HOSTILE)),
            "#/jobs",
            "#/findings",
        ]
        for address in addresses:
            page = self.open(address)
            self.settle(page)
            self.assertEqual(page.locator("main img, main script").count(), 0, address)
            shown = page.evaluate("() => document.body.innerText + document.title")
            for hidden in "\x1b\u202e\u2066":
                self.assertNotIn(hidden, shown, address)
            self.assertLess(len(shown), 20_000, address)
            page.context.close()


class Ways(BrowserCase):
    def test_clicks_from_the_jobs_to_the_rank_and_back(self):
        page = self.open()
        page.get_by_role("link", name=SLOW, exact=True).click()
        expect(page).to_have_title(f"{SLOW} · Eroica")
        page.get_by_role("link", name="Rank 17 holds 63 other ranks up").first.click()
        expect(page.get_by_role("heading", name="What to do next")).to_be_visible()
        page.locator(".culprits a").first.click()
        expect(page.get_by_role("heading", name="Rank 17")).to_be_visible()
        page.get_by_role("link", name="Show in the heat map").click()
        expect(page.locator(".heat-canvas")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="Rank 17")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("heading", name="What to do next")).to_be_visible()
        page.go_forward()
        expect(page.get_by_role("heading", name="Rank 17")).to_be_visible()

    def test_a_function_is_followed_through_the_ranks_and_the_windows(self):
        page = self.open(hash_of(SLOW, "rank", 17))
        page.get_by_role("link", name="tokenizer.py(118): normalize_unicode").click()
        expect(page.get_by_role("heading", name="Over the ranks")).to_be_visible()
        expect(page.locator("main")).to_contain_text("rank 17")
        self.assertIn("rank=17", page.url)
        page.get_by_role("link", name="‹ All functions").click()
        page.get_by_role("link", name="fused_adamw").click()
        expect(page.locator(".view-title")).to_contain_text("fused_adamw")

    def test_keys_alone_lead_to_a_finding(self):
        page = self.open(hash_of(SLOW))
        self.settle(page)
        title = page.locator(".finding-title").first
        for _ in range(40):
            page.keyboard.press("Tab")
            if title.evaluate("one => one === document.activeElement"):
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="What to do next")).to_be_visible()

    def test_the_address_holds_the_window(self):
        page = self.open(hash_of(SLOW, "heatmap"))
        self.settle(page)
        expect(page.locator("main")).to_contain_text("+36.4 ms")
        page.locator("#window").select_option("steps-54")
        expect(page.locator("main")).not_to_contain_text("+36.4 ms")
        self.assertIn("window=steps-54", page.url)
        page.get_by_label("Later window").click()
        expect(page.locator("main")).to_contain_text("+36.4 ms")
        self.assertIn("window=steps-55", page.url)
        page.go_back()
        expect(page.locator("#window")).to_have_value("steps-54")
        again = self.open(hash_of(SLOW, "heatmap", window="steps-54"))
        expect(again.locator("#window")).to_have_value("steps-54")
        self.settle(again)
        expect(again.locator("main")).not_to_contain_text("+36.4 ms")

    def test_a_mark_below_the_chart_leads_to_its_finding(self):
        page = self.open(hash_of(SLOW))
        page.locator(".lane.critical").click()
        expect(page.locator(".finding-sentence")).to_contain_text("Rank 17 holds")

    def test_a_click_into_the_chart_opens_its_window(self):
        page = self.open(hash_of(SLOW))
        self.settle(page)
        over = page.locator(".u-over")
        box = over.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.02, box["y"] + 60)
        expect(page.locator(".heat-canvas")).to_be_visible()
        self.assertIn("window=steps-50", page.url)

    def test_jobs_are_filtered_by_name(self):
        page = self.open()
        self.settle(page)
        page.get_by_label("Filter by name").fill("VIT")
        expect(page.locator(".job-row")).to_have_count(1)
        self.assertIn("q=VIT", page.url)
        page.get_by_label("Filter by name").fill("nothing like it")
        expect(page.locator("main")).to_contain_text("No job fits the filter")

    def test_colours_are_switched_and_kept(self):
        page = self.open()
        page.get_by_role("button", name="Dark colours").click()
        self.assertEqual(page.evaluate("() => getComputedStyle(document.body).colorScheme"), "dark")
        page.reload()
        expect(page.get_by_role("button", name="Light colours")).to_be_visible()

    def test_a_host_leads_to_its_ranks(self):
        page = self.open(hash_of(SLOW, "ranks"))
        page.get_by_label("Host").fill("node0003")
        page.get_by_role("button", name="Show").click()
        expect(page.locator("tbody tr")).to_have_count(8)
        self.assertIn("host=node0003", page.url)


if __name__ == "__main__":
    unittest.main()
