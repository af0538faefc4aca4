"""What the page does while the node comes and goes, asks for tokens, refuses, and sends news."""

import copy
import unittest

import stand_in_node
from browser_case import SLOW, BrowserCase, expect, hash_of

REFUSED = (
    "status of 40",
    "status of 503",
    "ERR_CONNECTION_REFUSED",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_CONNECTION_RESET",
    "ERR_EMPTY_RESPONSE",
)


class States(BrowserCase):
    def setUp(self):
        super().setUp()
        self.tolerated = REFUSED  # Chromium itself reports each answer that is no success

    def test_news_come_without_a_reload(self):
        page = self.open(hash_of(SLOW))
        self.settle(page)
        expect(page.locator(".connection")).to_have_attribute("data-state", "live")
        fresh = copy.deepcopy(self.node.jobs[SLOW].findings[0])
        fresh |= {"id": "f" * 32, "title": "Rank 5 is slow since just now.", "state": "opened"}
        self.node.emit(fresh)
        expect(page.locator("#open-findings")).to_contain_text("Rank 5 is slow since just now.")
        expect(page.locator("#news")).to_contain_text("New critical finding: Rank 5")
        expect(page.locator("#job-facts")).to_contain_text("2 critical")

    def test_a_restart_is_told_and_recovered_from(self):
        page = self.open(hash_of(SLOW))
        self.settle(page)
        port = self.node.port
        self.node.stop()
        expect(page.locator(".banner")).to_contain_text("The node has not answered")
        expect(page.locator("#open-findings")).to_contain_text("Rank 17 holds")  # stays in view
        page.screenshot(path=self.screenshot("node-away"))
        page.get_by_role("button", name="Try now").click()
        expect(page.locator(".banner")).to_be_visible()
        self.node = stand_in_node.StandInNode(port=port).start()
        fresh = copy.deepcopy(self.node.jobs[SLOW].findings[0])
        fresh |= {"id": "e" * 32, "title": "Rank 6 became slow meanwhile.", "state": "opened"}
        self.node.emit(fresh)
        expect(page.locator(".banner")).to_be_hidden()
        expect(page.locator(".connection")).to_have_attribute("data-state", "live")
        expect(page.locator("#open-findings")).to_contain_text("Rank 6 became slow meanwhile.")

    def test_it_recovers_by_itself(self):
        page = self.open(hash_of(SLOW))
        self.settle(page)
        self.node.set_mode("restoring")
        expect(page.locator(".banner")).to_contain_text("The node is restoring its state")
        expect(page.locator(".banner")).to_contain_text("3 of 8 tasks")
        self.check_accessibility(page, "restoring")
        self.node.set_mode("serving")
        expect(page.locator(".banner")).to_be_hidden()

    def test_a_page_opened_while_the_node_restores_loads_later(self):
        self.node.set_mode("restoring")
        page = self.open(hash_of(SLOW))
        expect(page.locator("main")).to_contain_text("The node is not ready yet")
        page.screenshot(path=self.screenshot("node-restoring"))
        self.node.set_mode("serving")
        expect(page.locator("#open-findings")).to_contain_text("Rank 17 holds")

    def test_what_is_not_there(self):
        for address, words in (
            (hash_of("no such job"), "No such job"),
            ("#/nothing", "There is no such page"),
            ("#/job/%", "There is no such page"),
            (hash_of(SLOW, "finding", "0" * 32), "There is nothing here"),
            (hash_of(SLOW, "rank", 640), "There is nothing here"),
            (hash_of(SLOW, "heatmap", window="steps-1"), "There is nothing here"),
        ):
            page = self.open(address)
            expect(page.locator("main")).to_contain_text(words)
            self.check_accessibility(page, words)
            if address.startswith("#/job/no"):
                page.screenshot(path=self.screenshot("job-missing"))
            page.context.close()

    def test_no_jobs(self):
        self.node.jobs.clear()
        page = self.open()
        expect(page.locator("main")).to_contain_text("No job has reported yet")
        page.screenshot(path=self.screenshot("jobs-none"))

    def test_slow_answers_show_that_they_load(self):
        self.node.delay_s = 1.0
        page = self.open()
        expect(page.locator(".skeleton").first).to_be_visible()
        expect(page.locator(".job-list")).to_be_visible()

    def test_a_node_without_a_token_file_takes_no_actions(self):
        page = self.open(hash_of(SLOW, "finding", self.node.jobs[SLOW].findings[0]["id"]))
        page.locator("#acknowledge").click()
        page.get_by_role("button", name="Acknowledge", exact=True).click()
        expect(page.locator(".dialog-message")).to_contain_text(
            "this node takes no control actions"
        )

    def screenshot(self, name):
        from browser_pages_test import SCREENSHOTS

        return SCREENSHOTS / f"{name}.png"


class Tokens(BrowserCase):
    token = "correct-horse"

    def setUp(self):
        super().setUp()
        self.tolerated = REFUSED

    def give(self, page, token):
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Go on").click()

    def test_a_token_is_asked_for_and_kept_out_of_the_address(self):
        page = self.open(hash_of(SLOW))
        expect(page.locator("h1")).to_have_text("This node wants a token")
        self.check_accessibility(page, "token")
        page.screenshot(path=States.screenshot(self, "token"))
        self.give(page, "wrong")
        expect(page.locator("#token-why")).to_contain_text("did not take the token")
        self.give(page, "two words")
        expect(page.locator("#token-why")).to_contain_text("one word")
        self.give(page, self.token)
        expect(page.locator("#open-findings")).to_contain_text("Rank 17 holds")
        expect(page.locator(".connection")).to_have_attribute("data-state", "live")
        self.assertNotIn(self.token, page.url)
        self.assertFalse([path for _, path in self.node.requests if self.token in path])
        page.reload()
        expect(page.locator("#open-findings")).to_contain_text("Rank 17 holds")
        self.assertEqual(page.evaluate("() => Object.values(localStorage).join()"), "")

    def open_with(self, token, address):
        page = self.open(address)
        self.give(page, token)
        return page

    def test_a_token_that_may_only_read(self):
        finding = self.node.jobs[SLOW].findings[0]["id"]
        page = self.open_with(self.token + "-read", hash_of(SLOW, "finding", finding))
        page.locator("#mute").click()
        page.get_by_role("button", name="Mute", exact=True).click()
        expect(page.locator(".dialog-message")).to_contain_text(
            "needs a token with the scope “control”"
        )
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)
        expect(page.locator("#mute")).to_be_focused()

    def test_actions(self):
        finding = self.node.jobs[SLOW].findings[0]["id"]
        page = self.open_with(self.token, hash_of(SLOW, "finding", finding))
        page.locator("#acknowledge").click()
        self.check_accessibility(page, "dialog")
        page.get_by_label("Note").fill("Draining node0002.")
        page.screenshot(path=States.screenshot(self, "acknowledge"))
        page.get_by_role("button", name="Acknowledge", exact=True).click()
        expect(page.locator("main")).to_contain_text("Draining node0002.")
        page.locator("#mute").click()
        page.locator("select[name=minutes]").select_option("480")
        page.get_by_role("button", name="Mute", exact=True).click()
        expect(page.locator("main")).to_contain_text("muted, ends in")
        page.locator("#unmute").click()
        page.locator("dialog").get_by_role("button", name="Unmute", exact=True).click()
        expect(page.locator("#mute")).to_be_visible()
        page.locator("#capture").click()
        page.get_by_label("First step").fill("2000")
        page.get_by_role("button", name="Capture", exact=True).click()
        expect(page.locator("dialog")).to_contain_text("asked of the producers")
        self.assertEqual(
            [entry["action"] for entry in self.node.audit],
            ["capture", "unmute", "mute", "acknowledge"],
        )


if __name__ == "__main__":
    unittest.main()
