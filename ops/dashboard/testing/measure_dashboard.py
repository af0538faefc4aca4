"""How large and how quick a page of 10,000 ranks x 32 functions is in a headless Chromium, on the
stand-in node. Prints figures for docs/PERFORMANCE.md; asserts nothing about time."""

import os
import statistics

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


def load(browser, node, address, selector, warm):
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    if warm:
        page.goto(node.url + "#/node")
        page.wait_for_selector(".facts")
        page.goto("about:blank")
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(node.url + address, wait_until="commit")
    ready_ms = page.evaluate(READY, selector)
    return page, ready_ms, sum(sizes), len(sizes)


def main():
    node = stand_in_node.StandInNode().start()
    pages = (
        ("findings", hash_of(MANY), ".u-over"),
        ("heat map", hash_of(MANY, "heatmap"), ".heat-canvas"),
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["EROICA_CHROMIUM"], args=["--no-sandbox"]
        )
        load(browser, node, pages[1][1], pages[1][2], False)[
            0
        ].context.close()  # numbers are made up once
        load(browser, node, pages[0][1], pages[0][2], False)[0].context.close()
        for name, address, selector in pages:
            for warm in (False, True):
                runs = []
                for _ in range(REPETITIONS):
                    page, ready_ms, size, requests = load(browser, node, address, selector, warm)
                    runs.append((ready_ms, size, requests))
                    page.context.close()
                ready = sorted(run[0] for run in runs)
                print(
                    f"{name}, {'assets known' if warm else 'first visit'}: interactive after "
                    f"{statistics.median(ready):.0f} ms (least {ready[0]:.0f}, most {ready[-1]:.0f}), "
                    f"{runs[-1][1] / 1000:.0f} kB in {runs[-1][2]} requests"
                )
        page = load(browser, node, *pages[1][1:], False)[0]
        frames = sorted(page.evaluate(FRAMES))
        print(
            f"heat map, zooming and moving: {len(frames)} frames, median {statistics.median(frames):.1f} ms, "
            f"p95 {frames[int(len(frames) * 0.95)]:.1f}, p99 {frames[int(len(frames) * 0.99)]:.1f}, "
            f"most {frames[-1]:.1f}"
        )
        print(f"tasks of more than 50 ms since it was opened: {len(page.evaluate(TASKS))}")
        browser.close()
    node.stop()


if __name__ == "__main__":
    main()
