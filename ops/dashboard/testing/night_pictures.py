"""The run, the outputs and the pictures of docs/NIGHT.md, once more: a simulated job of 8 ranks, of
which rank 6 has a slow GPU, through a Kafka broker to a node with tokens. Takes five minutes.
    browser_tests.sh python night_pictures.py BUILD BROKER FOLDER
BUILD: a build folder. FOLDER: where pictures and outputs.txt go; they are for somebody to look at."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCENARIO = ROOT / "tests/scenarios/dev/gpu_slow_gross_dp_8r.toml"
JOB = "llm-7b-night"
STEPS = 850  # that the pictures show at least
WIDTH = 1280
DEADLINE_S = 600


class Night:
    """The broker's topics, a node and the job."""

    def __init__(self, build, broker, scratch):
        self.eroica = f"{build}/ops/cli/eroica"
        self.lab = f"{build}/tests/evaluation/lab/eroica-lab"
        self.log = ["--bootstrap", broker, "--topic-prefix", f"night{os.getpid()}"]
        self.scratch = scratch
        made = subprocess.run(
            [self.eroica, "token", "--name", "oncall", "--scope", "read,control", "--json"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        token = json.loads(made.stdout)
        self.token = token["token"]
        (scratch / "tokens").write_text(token["line"] + "\n")

    def say(self, *words):
        """(words of the command, standard output)"""
        command = [self.eroica, *words[:1], *self.log, *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        return done.stdout + done.stderr

    def start(self):
        subprocess.run([self.eroica, "topics", "create", *self.log], check=True, capture_output=True)
        with open(self.scratch / "node.log", "w", encoding="utf-8") as log:
            node = subprocess.Popen(
                [self.eroica, "node", *self.log, "--state", self.scratch / "state",
                 "--set", f"rest.token_file={self.scratch}/tokens", "--set", "rest.listen=127.0.0.1:0"],
                stdout=log, stderr=log,
            )  # fmt: skip
        text = re.sub(r"(?m)^severity = .*", "severity = 0.5", SCENARIO.read_text())
        (self.scratch / "night.toml").write_text(text)
        job = subprocess.Popen(
            [self.lab, "simulate", self.scratch / "night.toml", "--job", JOB, *self.log,
             "--pace", "real", "--steps", "12000", "--quiet"],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return node, job

    def await_url(self):
        return self.await_value(
            lambda: re.search(r"url=(http://\S+)", (self.scratch / "node.log").read_text())
        )[1]

    @staticmethod
    def await_value(ask):
        deadline = time.monotonic() + DEADLINE_S
        while not (value := ask()):
            if time.monotonic() > deadline:
                raise TimeoutError("it does not come")
            time.sleep(0.5)
        return value

    def get(self, url, path):
        request = urllib.request.Request(
            url + path, headers={"Authorization": f"Bearer {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            return None  # the job is not known yet

    def finding_after(self, url, steps):
        """The one finding, once the job has come so far."""

        def ask():
            found = self.get(url, f"/v1/findings?job={JOB}") or {"findings": []}
            return next((one for one in found["findings"] if one["steps"]["last"] >= steps), None)

        return self.await_value(ask)


def take_pictures(page, night, url, finding, folder):
    job = f"{url}/#/job/{JOB}"
    page.goto(url)
    page.get_by_label("Token").fill(night.token)
    page.get_by_role("button", name="Go on").click()

    def picture(name, height):
        page.set_viewport_size({"width": WIDTH, "height": height})
        page.wait_for_timeout(1500)  # charts are drawn, news have come
        page.screenshot(path=folder / f"night_{name}.png")

    expect(page.locator(".job-list")).to_contain_text("Rank 6 holds", timeout=20_000)
    picture("jobs", 250)
    page.goto(job)
    expect(page.locator("#open-findings")).to_contain_text("Rank 6 holds", timeout=20_000)
    picture("job", 800)
    page.goto(f"{job}/finding/{finding}")
    expect(page.locator("main")).to_contain_text("The culprit against its peers", timeout=20_000)
    picture("finding", 1256)
    page.get_by_text("Where its step goes").scroll_into_view_if_needed()
    page.set_viewport_size({"width": WIDTH, "height": 1300})
    section = page.locator(".section, section", has_text="Where its step goes").last
    expect(section).to_contain_text("This rank", timeout=20_000)
    page.wait_for_timeout(1500)
    section.screenshot(path=folder / "night_function.png")
    page.goto(f"{job}/waits")
    expect(page.locator("main")).to_contain_text("wait in the end for rank 6", timeout=20_000)
    picture("waits", 760)
    page.goto(f"{job}/finding/{finding}")
    page.locator("#acknowledge").click()
    page.get_by_label("Note").fill("Ticket 4711. Host node0000 leaves the pool at the next checkpoint. - M.")
    page.get_by_role("button", name="Acknowledge", exact=True).click()
    expect(page.locator("main")).to_contain_text("Ticket 4711")
    page.locator("#mute").click()
    page.locator("select[name=minutes]").select_option("480")
    page.get_by_label("Note").fill("Until node0000 is replaced, ticket 4711.")
    page.get_by_role("button", name="Mute", exact=True).click()
    expect(page.locator("main")).to_contain_text("muted, ends in")
    page.evaluate("() => scrollTo(0, 0)")
    picture("acknowledged", 640)


def outputs(night, url, incident):
    shown = [night.say("findings", "--open", "--severity", "critical", "--brief")]
    shown.append(json.dumps(night.get(url, "/v1/audit")["entries"][-1], separators=(",", ":")))
    shown.append(night.say("record", "--job", JOB, "--from", "3h", "-o", incident))
    return shown


def replayed(night, incident, again):
    done = subprocess.run(
        [night.eroica, "replay", "--recording", incident, "-o", again, *night.log[2:]],
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


def main(build, broker, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        scratch = pathlib.Path(scratch)
        night = Night(build, broker, scratch)
        node, job = night.start()
        try:
            url = night.await_url()
            finding = night.finding_after(url, STEPS)["id"]
            browser = playwright.chromium.launch(
                executable_path=os.environ["EROICA_CHROMIUM"],
                args=["--no-sandbox", "--disable-dev-shm-usage"],
            )
            page = browser.new_context(viewport={"width": WIDTH, "height": 800}).new_page()
            take_pictures(page, night, url, finding, folder)
            shown = outputs(night, url, scratch / "incident")
        finally:
            job.kill()
            node.terminate()
            node.wait()
        shown.append(replayed(night, scratch / "incident", scratch / "again"))
        (folder / "outputs.txt").write_text("\n".join(shown))


if __name__ == "__main__":
    main(*sys.argv[1:])
