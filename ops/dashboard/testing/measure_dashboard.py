"""How large and how quick the page of a large job is in a headless Chromium: of one with 10,000
ranks x 32 functions on the stand-in node, or of given jobs on nodes that run (URL JOB ...), each
visited in turn. Prints figures for docs/PERFORMANCE.md; asserts nothing about time."""

import os
import statistics
import sys

import stand_in_node
from browser_case import MANY, hash_of
from playwright.sync_api import sync_playwright

REPETITIONS = 7
# Resolves when what it waits for is drawn: milliseconds since the page was asked for.
READY = """
selector => new Promise(done => {
  const look = () => {
    const ready = document.querySelector(selector) && !document.querySelector(".skeleton");
    if (!ready) return requestAnimationFrame(look);
    requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0));
  };
  look();
})"""
# Zooms in and out and moves for three seconds, one step a frame; the times between frames.
FRAMES = """
() => new Promise(done => {
  const canvas = document.querySelector(".heat-canvas");
  const box = canvas.getBoundingClientRect();
  const at = {bubbles: true, cancelable: true, clientX: box.left + box.width * 0.41, clientY: box.top + 50};
  const times = [];
  let before = performance.now();
  const begin = before;
  const frame = now => {
    times.push(now - before);
    before = now;
    const turn = times.length;
    if (now - begin > 3000) return done(times.slice(2));
    const zooming = Math.floor(turn / 30) % 3;
    if (zooming === 2) canvas.dispatchEvent(new WheelEvent("wheel", {...at, deltaX: turn % 60 < 30 ? 40 : -40}));
    else canvas.dispatchEvent(new WheelEvent("wheel", {...at, ctrlKey: true, deltaY: zooming === 0 ? -60 : 60}));
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""
# The time that drawing alone takes, frame after frame, without waiting for the display.
TASKS = """
() => new Promise(done => {
  const tasks = [];
  new PerformanceObserver(list => tasks.push(...list.getEntries().map(one => one.duration)))
    .observe({type: "longtask", buffered: true});
  setTimeout(() => done(tasks), 300);
})"""


def load(browser, url, address, selector, warm):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    if warm:
        page.goto(url + "#/node")
        page.wait_for_selector(".facts")
        page.goto("about:blank")
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(url + address, wait_until="commit")
    ready_ms = page.evaluate(READY, selector)
    return page, ready_ms, sum(sizes), len(sizes)


def visit(browser, url, address, selector, warm):
    page, *figures = load(browser, url, address, selector, warm)
    page.context.close()
    return figures


def measure_visits(browser, nodes, name, selector, rest):
    """One visit of each node after the other, so that what else the machine does burdens all."""
    for warm in (False, True):
        runs = [[] for _ in nodes]
        for _ in range(REPETITIONS):
            for (url, job), of_node in zip(nodes, runs, strict=True):
                of_node.append(visit(browser, url, hash_of(job, *rest), selector, warm))
        for (url, _), of_node in zip(nodes, runs, strict=True):
            ready = sorted(run[0] for run in of_node)
            print(
                f"{url} {name}, {'assets known' if warm else 'first visit'}: interactive after "
                f"{statistics.median(ready):.0f} ms (least {ready[0]:.0f}, most {ready[-1]:.0f}), "
                f"{of_node[-1][1] / 1000:.0f} kB in {of_node[-1][2]} requests",
                flush=True,
            )


def measure_frames(browser, url, job):
    page = load(browser, url, hash_of(job, "heatmap"), ".heat-canvas", False)[0]
    frames = sorted(page.evaluate(FRAMES))
    print(
        f"{url} heat map, zooming and moving: {len(frames)} frames, "
        f"median {statistics.median(frames):.1f} ms, p95 {frames[int(len(frames) * 0.95)]:.1f}, "
        f"p99 {frames[int(len(frames) * 0.99)]:.1f}, most {frames[-1]:.1f}"
    )
    print(f"tasks of more than 50 ms since it was opened: {len(page.evaluate(TASKS))}")
    page.context.close()


def main(*given):
    stand_in = None if given else stand_in_node.StandInNode().start()
    nodes = list(zip(given[::2], given[1::2], strict=True)) or [(stand_in.url, MANY)]
    pages = (("findings", ".u-over", ()), ("heat map", ".heat-canvas", ("heatmap",)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["EROICA_CHROMIUM"], args=["--no-sandbox"]
        )
        for url, job in nodes:  # answers are made once
            for _, selector, rest in pages:
                visit(browser, url, hash_of(job, *rest), selector, False)
        for name, selector, rest in pages:
            measure_visits(browser, nodes, name, selector, rest)
        for url, job in nodes:
            measure_frames(browser, url, job)
        browser.close()
    if stand_in:
        stand_in.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
