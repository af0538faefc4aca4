"""The heat map under keys and pointer, the size of a page of 10,000 ranks, and the modules without a page."""

import unittest

from browser_case import MANY, SLOW, BrowserCase, expect, hash_of

LARGEST_PAGE = 2_000_000


class HeatMap(BrowserCase):
    def test_keys_move_zoom_and_open(self):
        page = self.open(hash_of(SLOW, "heatmap"))
        self.settle(page)
        canvas = page.locator(".heat-canvas")
        canvas.focus()
        page.keyboard.press("ArrowRight")
        for _ in range(17):
            page.keyboard.press("ArrowRight")
        expect(page.locator(".heat-tip")).to_contain_text("rank 17")
        expect(page.locator(".heat-tip")).to_contain_text("+36.4 ms")
        page.keyboard.press("+")
        expect(page.locator("#heat-in-view")).to_contain_text("of 64")
        page.keyboard.press("0")
        expect(page.locator("#heat-in-view")).to_have_text("all 64 ranks")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Rank 17")).to_be_visible()

    def test_pointer_tells_and_opens_the_rank_that_stands_out(self):
        page = self.open(hash_of(MANY, "heatmap"))
        self.settle(page)
        box = page.locator(".heat-canvas").bounding_box()
        x, y = box["x"] + box["width"] * 8191.5 / 10_000, box["y"] + 16 + 22 * 3 + 11
        page.mouse.move(x, y)
        expect(page.locator(".heat-tip")).to_contain_text("rank 8,191")
        page.mouse.click(x, y)
        expect(page.get_by_role("heading", name="Rank 8,191")).to_be_visible()

    def test_wheel_and_drag(self):
        page = self.open(hash_of(MANY, "heatmap"))
        self.settle(page)
        canvas = page.locator(".heat-canvas")
        box = canvas.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
        before = page.evaluate("() => scrollY")
        page.mouse.wheel(0, 120)
        page.wait_for_function(
            "before => scrollY > before", arg=before
        )  # the wheel alone scrolls the page
        expect(page.locator("#heat-in-view")).to_have_text("all 10,000 ranks")
        page.keyboard.down("Control")
        page.mouse.wheel(0, -800)
        page.keyboard.up("Control")
        expect(page.locator("#heat-in-view")).to_contain_text("of 10,000")
        seen = page.locator("#heat-in-view").text_content()
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 - 200, box["y"] + 60, steps=4)
        page.mouse.up()
        expect(page.locator("#heat-in-view")).not_to_have_text(seen)

    def test_go_to_rank_and_order(self):
        page = self.open(hash_of(MANY, "heatmap"))
        self.settle(page)
        page.get_by_label("Go to rank").fill("4097")
        page.get_by_role("button", name="Go", exact=True).click()
        expect(page.locator("#heat-in-view")).to_contain_text("of 10,000")
        self.assertIn("rank=4097", page.url)
        page.get_by_label("Ranks", exact=True).select_option("worst")
        box = page.locator(".heat-canvas").bounding_box()
        page.mouse.move(box["x"] + 3, box["y"] + 16 + 11)
        expect(page.locator(".heat-tip")).to_contain_text("node0512")

    def test_another_metric(self):
        page = self.open(hash_of(SLOW, "heatmap"))
        self.settle(page)
        page.get_by_label("Show").select_option("beta")
        expect(page.locator(".heat-legend")).to_contain_text("%")
        self.assertIn("metric=beta", page.url)

    def test_a_page_of_10000_ranks_is_small(self):
        for rest in ((), ("heatmap",)):
            page = self.open("#/node")
            session = page.context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.setCacheDisabled", {"cacheDisabled": True})
            sizes = []
            session.on(
                "Network.loadingFinished",
                lambda event, sizes=sizes: sizes.append(event["encodedDataLength"]),
            )
            page.goto("about:blank")
            page.goto(self.node.url + hash_of(MANY, *rest))
            self.settle(page)
            self.assertIn(len(sizes), range(6, 13))  # files and answers
            self.assertLess(sum(sizes), LARGEST_PAGE)
            page.context.close()


class Modules(BrowserCase):
    def evaluate(self, module, body):
        page = self.open("#/node")
        return page.evaluate(
            "async () => { const m = await import('/assets/%s'); %s }" % (module, body)
        )

    def test_units(self):
        got = self.evaluate(
            "units.js",
            """return [
            m.duration(0), m.duration(950), m.duration(31.5e6), m.duration(126e6), m.duration(999.6e6), m.duration(45 * 60e9),
            m.duration(-387e3), m.signedDuration(-387e3), m.rate(1.234), m.rate(0.0123), m.bytes(268e6), m.percent(0.324),
            m.lostGpus(1.35 * 3600, 4), m.lostGpus(0, 8), m.lostGpus(3600, 0), m.measured(1.4e-52, "probability"), m.tick(50e6),
            m.tick(2.5e6), m.span(59), m.span(3600 * 5), m.duration(null)]""",
        )
        self.assertEqual(
            got,
            [
                "0",
                "950 ns",
                "31.5 ms",
                "126 ms",
                "1.00 s",
                "45 min",
                "-387 µs",
                "−387 µs",
                "1.23 GB/s",
                "12.3 MB/s",
                "268 MB",
                "32 %",
                "1.35 of 4 GPUs",
                "0 of 8 GPUs",
                "1.00 GPUs",
                "1.4e-52",
                "50 ms",
                "2.5 ms",
                "59 s",
                "5 h 00 min",
                "–",
            ],
        )

    def test_hostile_text(self):
        got = self.evaluate(
            "printable.js",
            r"""return [
            m.printable("a\u202eb\u2066\x1b[2J\n\ud800"), m.printable("x".repeat(10000), 50).length, m.printable("héllo 😀 مرحبا")]""",
        )
        self.assertEqual(got, ["a\\u202eb\\u2066\\x1b[2J\\n\\ud800", 50, "héllo 😀 مرحبا"])

    def test_events_in_pieces(self):
        got = self.evaluate(
            "event_stream.js",
            r"""
            const text = ": hello\r\n\r\nid: 7\r\nevent: finding\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: x\n\nevent: y\n\nid: 8\rdata: z\r\r\n";
            const whole = new m.EventParser().push(text + "\n");
            const parser = new m.EventParser();
            const pieces = [...text, "\n"].flatMap(one => parser.push(one));
            return [whole, pieces];""",
        )
        expected = [
            {"id": "7", "type": "finding", "data": '{"a":\n1}'},
            {"id": "7", "type": "message", "data": "x"},
            {"id": "8", "type": "message", "data": "z"},
        ]
        self.assertEqual(got[0], expected)
        self.assertEqual(got[1], expected)

    def test_waits_are_followed_to_whom_all_wait_for(self):
        got = self.evaluate(
            "wait_edges.js",
            """
            const edges = [];
            for (let rank = 0; rank < 10000; ++rank) if (rank !== 7) edges.push({from: rank, to: 7, ns: 1000 + rank, label: "world"});
            edges.push({from: 20000, to: 3, ns: 5, label: "pp"}, {from: 30000, to: 40000, ns: 9, label: "elsewhere"});
            const roots = m.rootsOf(edges);
            const kept = m.connectedWaits(edges, roots);
            const layers = m.layersOf(kept, roots);
            return {roots, kept: kept.length, layers: layers.map(layer => layer.map(node => node.ranks.length))};""",
        )
        self.assertEqual(
            got, {"roots": [7], "kept": 10_000, "layers": [[1], [1, 1, 1, 1, 1, 1, 9993], [1]]}
        )

    def test_addresses(self):
        got = self.evaluate(
            "route.js",
            """
            const there = {page: "job", job: "a/b?c#d%\\u202e", tab: "rank", item: "17", query: {window: "steps-3"}};
            return [m.parseRoute(m.hrefOf(there)), m.parseRoute("#/job/%"), m.parseRoute(""), m.parseRoute("#/job/x/rank"),
                m.parseRoute("#/job/x/heatmap/y")].map(one => JSON.stringify(one));""",
        )
        self.assertIn('"job":"a/b?c#d%\u202e"', got[0])
        self.assertIn('"item":"17"', got[0])
        self.assertIn('"window":"steps-3"', got[0])
        self.assertEqual(
            [one.split(",")[0] for one in got[1:]],
            ['{"page":"unknown"', '{"page":"jobs"', '{"page":"unknown"', '{"page":"unknown"'],
        )


if __name__ == "__main__":
    unittest.main()
