"""The page in a real browser: headless Chromium by Playwright, against two servers.

usage: page.py OPEN_URL GUARDED_URL [FOLDER_FOR_PICTURES]

Ends with 77 where Playwright or a browser is missing. Whatever the browser's console calls an error, but for answers of the server that a step
expects, fails the run, and so does any request to another place.
"""

import json
import os
import shutil
import sys
import time
from base64 import b64encode
from urllib.request import Request, urlopen

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    sys.exit(77)

BROWSER = os.environ.get("TANGLEWOOD_BROWSER") or next(
    filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None
)
if BROWSER is None:
    sys.exit(77)

OPEN, GUARDED = sys.argv[1], sys.argv[2]
PICTURES = sys.argv[3] if len(sys.argv) > 3 else None
PATIENCE_MS = 60_000
ATTACK = "<img src=x onerror=\"window.attacked=1\"><script>window.attacked=1</script>"
expect.set_options(timeout=PATIENCE_MS)


def ask(statement, **parameters):
    """Asks the open server beside the page."""
    body = json.dumps({"statement": statement, "parameters": parameters}).encode()
    request = Request(OPEN + "/db/neo4j/query/v2", body, {"Content-Type": "application/json"})
    return json.load(urlopen(request, timeout=20))["data"]["values"]


class Visit:
    """One tab, and what must not happen in it."""

    def __init__(self, browser, url, **options):
        self.faults, self.url = [], url
        self.page = browser.new_page(viewport={"width": 1280, "height": 800}, **options)
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("console", self.listen)
        self.page.on("request", self.watch)
        self.page.goto(url)

    def listen(self, message):
        # A refused statement is an answer with a status, which the browser's console tells.
        is_status = "the server responded with a status of 4" in message.text
        # Where text replaces text in the editor, the browser itself makes a styled element, which the policy refuses; no script of the page does.
        is_typing = "Applying inline style" in message.text and message.location["lineNumber"] == 0
        # What the graphics driver of this machine says is not the page's.
        is_driver = "GL Driver Message" in message.text or "software WebGL" in message.text
        if message.type in ("error", "warning") and not (is_status or is_typing or is_driver):
            self.faults.append(f"console: {message.text[:400]} at {message.location}")

    def watch(self, request):
        if not request.url.startswith((self.url, "blob:" + self.url, "data:")):
            self.faults.append(f"a request to {request.url}")

    def write(self, text):
        self.page.locator(".cm-content").focus()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def begin(self, text):
        before = self.page.locator(".status[data-answer]")
        number = before.get_attribute("data-answer") if before.count() else ""
        self.write(text)
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "before => { const now = document.querySelector('.status[data-answer]'); return now && now.dataset.answer !== before }",
            arg=number,
        )

    def run(self, text, state="done"):
        self.begin(text)
        expect(self.page.locator(".status[data-answer]")).to_have_attribute("data-state", state)

    def view(self, name):
        self.page.get_by_role("navigation").get_by_role("button", name=name).click()

    def tab(self, name):
        self.page.get_by_role("tab", name=name).click()

    def picture(self, name):
        if PICTURES:
            self.page.screenshot(path=f"{PICTURES}/{name}.png")

    def end(self):
        assert not self.faults, self.faults
        self.page.close()


def first_query(visit):
    visit.run("UNWIND [1, 2.5, null, 'x', [1, {a: true}], date('2026-01-02')] AS v RETURN v")
    cells = visit.page.locator(".query-view [role=gridcell]").all_inner_texts()
    assert cells == ["1", "2.5", "null", "x", "[1, {a: true}]", "2026-01-02"], cells
    visit.tab("Raw")
    expect(visit.page.locator(".raw-line").first).to_have_text('{"v":1}')
    visit.tab("Table")
    visit.run("RETURN 9007199254740993 AS odd")
    expect(visit.page.locator(".query-view [role=gridcell]")).to_have_text("9007199254740993")


def many_rows(visit):
    """A hundred thousand rows are kept, the rest is not asked for; few of them are elements."""
    visit.run("UNWIND range(1, 101000) AS i RETURN i, 'text ' + i AS text", "cut")
    expect(visit.page.locator(".status[data-answer]")).to_contain_text("100,000 rows")
    assert visit.page.locator(".query-view [role=gridcell]").count() < 400
    table = visit.page.get_by_role("grid")
    table.focus()
    visit.page.keyboard.press("End")
    visit.page.keyboard.press("End")
    expect(visit.page.get_by_text("text 100000", exact=True)).to_be_visible()


def error(visit):
    visit.run("MATCH (n)\nRETRUN n", "failed")
    expect(visit.page.get_by_role("alert")).to_contain_text("did you mean RETURN?")
    expect(visit.page.locator(".excerpt mark")).to_have_text("RETRUN")
    expect(visit.page.locator(".cm-lintRange-error")).to_have_text("RETRUN")
    # Underlined as it is typed, before anything is run.
    visit.write("MATCH (n) RETURN nn")
    expect(visit.page.locator(".cm-lintRange-error")).to_have_text("nn")
    visit.write("MATCH (n) RETURN n")
    expect(visit.page.locator(".cm-lintRange-error")).to_have_count(0)


def completion(visit):
    visit.write("MATCH (n:Per")
    visit.page.keyboard.press("Control+Space")
    expect(visit.page.locator(".cm-tooltip-autocomplete li").first).to_contain_text("Person")
    visit.page.keyboard.press("Escape")


def attack(visit):
    """What looks like a script in names and values is text everywhere."""
    ask("MERGE (n:`<b>Evil</b>` {id: 1}) SET n.name = $attack, n.`<i>key</i>` = $attack", attack=ATTACK)
    visit.run("MATCH (n:`<b>Evil</b>`) RETURN n, n.name AS `<u>title</u>`")
    visit.tab("Graph")
    expect(visit.page.locator(".legend")).to_contain_text("<b>Evil</b>")
    visit.tab("Table")
    expect(visit.page.get_by_role("columnheader", name="<u>title</u>")).to_be_visible()
    visit.page.get_by_role("gridcell").first.click()
    expect(visit.page.locator(".inspector")).to_contain_text(ATTACK)
    visit.run(f"RETURN {json.dumps(ATTACK)} +", "failed")
    expect(visit.page.get_by_role("alert")).to_contain_text("window.attacked")
    assert visit.page.evaluate("window.attacked") is None
    inline = visit.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.inline = 1'; document.body.append(one); return window.inline }"
    )
    assert inline is None, "the policy lets inline scripts run"
    visit.faults = [fault for fault in visit.faults if "Content Security Policy" not in fault]


def longest_task_ms(trace):
    """The longest task of the page's own thread, in milliseconds of the processor: what else the machine does is not in it."""
    events = json.loads(trace)["traceEvents"]
    threads = {(one["pid"], one["tid"]) for one in events if one.get("name") == "thread_name" and one["args"].get("name") == "CrRendererMain"}
    tasks = [one.get("tdur", 0) for one in events if one.get("ph") == "X" and "RunTask" in one["name"] and (one["pid"], one["tid"]) in threads]
    assert tasks, "the browser traces no tasks"
    return max(tasks) / 1000


def ten_thousand(visit):
    """Ten thousand nodes are drawn, and the page answers meanwhile."""
    visit.page.set_viewport_size({"width": 900, "height": 600})
    browser = visit.page.context.browser
    browser.start_tracing(page=visit.page, categories=["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"])
    began = time.monotonic()
    visit.run("MATCH (a:Person)-[r:KNOWS]->(b:Person) RETURN a, r, b")
    visit.tab("Graph")
    count = visit.page.locator(".query-view .graph-count")
    expect(count).to_have_attribute("data-nodes", "10000")
    drawn_s = time.monotonic() - began
    measure = """() => { window.frames = new Promise(done => {
        let frames = 0, longest = 0, last = performance.now(), end = last + 1500
        const frame = now => { frames++; longest = Math.max(longest, now - last); last = now; now < end ? requestAnimationFrame(frame) : done({ frames, longest }) }
        requestAnimationFrame(frame)
    }) }"""
    visit.page.evaluate(measure)
    moving = visit.page.evaluate("window.frames")
    print(f"10,000 nodes after {drawn_s:.1f} s, {moving['frames'] / 1.5:.0f} frames a second while they move, longest {moving['longest']:.0f} ms")
    assert moving["frames"] > 0, moving
    task_ms = longest_task_ms(browser.stop_tracing())
    print(f"the page's longest task: {task_ms:.0f} ms of the processor")
    # Built and drawn in one task, with its relationships, the graph took 200 to 270 ms; in slices it takes 50.
    assert task_ms < 150, task_ms
    visit.page.get_by_role("button", name="Hold still").click()
    expect(count).to_have_attribute("data-moving", "false")
    box = visit.page.locator(".graph-box").bounding_box()
    visit.page.mouse.move(box["x"] + 200, box["y"] + 200)
    visit.page.mouse.down()
    visit.page.evaluate(measure)
    until, step = time.monotonic() + 1.5, 0
    while time.monotonic() < until:
        step += 1
        visit.page.mouse.move(box["x"] + 200 + step % 150, box["y"] + 200 + step % 90)
        time.sleep(0.01)
    dragged = visit.page.evaluate("window.frames")
    visit.page.mouse.up()
    print(f"dragged: {dragged['frames'] / 1.5:.0f} frames a second, longest {dragged['longest']:.0f} ms")
    # In software, on a machine that is busy; a pixel that is read back for each movement of the mouse makes it fewer.
    assert dragged["frames"] >= 3, dragged
    visit.picture("ten-thousand")
    visit.page.set_viewport_size({"width": 1280, "height": 800})


def neighbours(visit):
    """Counts first, then a click brings them; paths are marked."""
    visit.run("MATCH p = (a:Person {id: 1})-[:KNOWS]->() RETURN p")
    visit.tab("Graph")
    expect(visit.page.get_by_label("Paths")).to_be_visible()
    before = int(visit.page.locator(".graph-count").get_attribute("data-nodes"))
    visit.page.get_by_role("application").focus()
    visit.page.keyboard.press("n")
    counted = visit.page.locator(".neighbours button").filter(has_text="KNOWS").last
    expect(counted).to_be_visible()
    counted.click()
    visit.page.wait_for_function("before => document.querySelector('.graph-count').dataset.nodes > before", arg=before)


def plan(visit):
    visit.run("PROFILE MATCH (a:Person)-[:KNOWS]->(b) RETURN b.id % 7 AS rest, max(a.id) AS last")
    expect(visit.page.locator(".operator.hot")).to_have_count(1)
    expect(visit.page.locator(".plan")).to_contain_text("Expand")
    visit.picture("plan")


def languages(visit):
    visit.run("g.V().hasLabel('Person').has('id', 7).out('KNOWS').count()")
    assert int(visit.page.locator(".query-view [role=gridcell]").inner_text()) > 0
    visit.run("DATALOG { answer(n) :- Person.id(a, 7), KNOWS(a, b), Person.id(b, n). ?- answer(n). }")
    expect(visit.page.locator(".query-view [role=columnheader]").nth(1)).to_contain_text("n")


def stop_and_kill(visit):
    endless = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j WITH i * j AS k RETURN max(k % 7)"
    running = "SHOW QUERIES YIELD query WHERE query STARTS WITH 'UNWIND range(1, 1000000)' RETURN count(*)"
    visit.begin(endless)
    visit.page.get_by_role("button", name="Stop").click()
    expect(visit.page.locator(".status[data-answer]")).to_have_attribute("data-state", "stopped")
    until = time.monotonic() + PATIENCE_MS / 1000
    while ask(running) != [[0]] and time.monotonic() < until:
        time.sleep(0.05)
    assert ask(running) == [[0]], "a statement that is stopped ends at the server"
    visit.begin(endless)
    visit.view("Activity")
    card = visit.page.locator(".query-card").filter(has_text="UNWIND range")
    visit.picture("activity")
    card.get_by_role("button", name="Kill").click()
    expect(card).to_have_count(0)
    visit.view("Query")
    expect(visit.page.locator(".status[data-answer]")).to_have_attribute("data-state", "failed")
    expect(visit.page.get_by_role("alert")).to_contain_text("killed by KILL QUERY")


def subscription(visit):
    """Rows come and go while one looks, also after the subscription was opened."""
    visit.view("Live")
    visit.page.get_by_role("button", name="New").click()
    visit.page.get_by_label("Name", exact=True).fill("cheap offers")
    visit.page.get_by_label("Query", exact=True).fill("MATCH (o:Offer) WHERE o.price < 10 RETURN o.name AS name, o.price AS price")
    visit.page.get_by_role("button", name="Make").click()
    expect(visit.page.locator("[data-live=live]")).to_be_visible()
    ask("CREATE (:Offer {name: 'tea', price: 4}), (:Offer {name: 'car', price: 9000})")
    tea = visit.page.get_by_label("Rows now").get_by_text("tea")
    expect(tea).to_be_visible()
    ask("MATCH (o:Offer {name: 'tea'}) SET o.price = 12")
    expect(tea).to_have_count(0)
    log = visit.page.get_by_label("Changes, youngest first")
    expect(log.locator("li.came")).to_have_count(1)
    expect(log.locator("li.went")).to_have_count(1)
    visit.picture("live")


def time_travel(visit):
    ask("CREATE (:Clock {at: 1})")
    ask("MATCH (c:Clock) SET c.at = 2")
    visit.view("Query")
    visit.run("MATCH (c:Clock) RETURN c.at AS at")
    cell = visit.page.locator(".query-view [role=gridcell]")
    expect(cell).to_have_text("2")
    visit.page.get_by_role("button", name="Time travel").click()
    visit.page.get_by_role("button", name="Earlier").click()
    expect(cell).to_have_text("1")
    visit.page.get_by_role("button", name="Later").click()
    expect(cell).to_have_text("2")
    visit.picture("time-travel")


def load(visit):
    visit.view("Import")
    text = 'id,name,weight\n1,Rex,3.5\n2,"Bello, ""the"" dog",4\n'
    visit.page.set_input_files("input[type=file]", {"name": "Dog.csv", "mimeType": "text/csv", "buffer": text.encode()})
    visit.page.get_by_label("Import of Dog.csv").get_by_role("button", name="Import").click()
    expect(visit.page.get_by_text("2 rows, 2 nodes created, done")).to_be_visible()
    assert ask("MATCH (d:Dog) RETURN d.id, d.name, d.weight ORDER BY d.id") == [[1, "Rex", 3.5], [2, 'Bello, "the" dog', 4.0]]
    visit.picture("import")


def schema(visit):
    visit.view("Schema")
    expect(visit.page.locator(".schema-lists")).to_contain_text("Person")
    expect(visit.page.locator(".schema-lists")).to_contain_text("KNOWS")
    visit.picture("schema")


def past(visit):
    """What was asked is there after a reload, but for what has a password."""
    visit.view("Query")
    visit.run("CREATE USER eve SET PASSWORD 'never kept 1' NONSENSE", "failed")
    visit.page.reload()
    visit.page.get_by_role("button", name="History").click()
    expect(visit.page.locator(".past")).to_contain_text("MATCH (c:Clock)")
    kept = visit.page.evaluate("JSON.stringify(localStorage)")
    assert "never kept" not in kept and "tanglewood_" not in kept, kept


def looks(visit):
    """Dark and narrow; everything that can be pressed has a name."""
    visit.page.get_by_label("Theme").select_option("dark")
    visit.run("MATCH p = (:Person {id: 1})-[:KNOWS]->(:Person) RETURN p")
    visit.picture("dark")
    visit.page.set_viewport_size({"width": 400, "height": 760})
    visit.picture("narrow")
    wide = visit.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"the page is {wide} px too wide"
    nameless = visit.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, textarea')]
            .filter(one => !(one.getAttribute('aria-label') || one.title || one.textContent.trim() || one.closest('label')))
            .map(one => one.outerHTML)"""
    )
    assert nameless == [], nameless


def accessible(visit):
    """The rules of WCAG 2.1 A and AA as axe-core checks them, in light and in dark; passed over where it is not installed."""
    axe = os.path.join(os.path.dirname(__file__), "../../../web/node_modules/axe-core/axe.min.js")
    if not os.path.exists(axe):
        print("passed over: axe-core is not installed; `npm ci` in interfaces/web does")
        return
    visit.page.set_viewport_size({"width": 1280, "height": 800})
    with open(axe, encoding="utf-8") as source:
        visit.page.evaluate(source.read())

    def check(where):
        # Between light and dark only colours differ.
        rules = "['color-contrast']" if where[0] == "dark" else "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']"
        found = visit.page.evaluate(f"axe.run(document, {{ runOnly: {rules} }})")
        told = [(one["id"], one["nodes"][0]["html"][:200], one["nodes"][0]["failureSummary"]) for one in found["violations"]]
        assert told == [] and found["passes"], (where, told)

    for theme in ["light", "dark"]:
        visit.page.get_by_label("Theme").select_option(theme)
        visit.view("Query")
        visit.run("MATCH p = (:Person {id: 1})-[:KNOWS]->(:Person) RETURN p")
        for name in ["Graph", "Table"]:
            visit.tab(name)
            check((theme, name))
        visit.run("PROFILE RETURN 1 AS one")
        check((theme, "plan"))
        visit.run("MATCH (n", "failed")
        check((theme, "error"))
        for name in ["Schema", "Live", "Activity", "Import"]:
            visit.view(name)
            check((theme, name))


def expand(visit):
    """A double click counts the neighbours, and brings them where they are few."""
    visit.view("Query")
    visit.run("MATCH (a:Person {id: 7}) RETURN a")
    visit.tab("Graph")
    count = visit.page.locator(".query-view .graph-count")
    expect(count).to_have_attribute("data-moving", "false")
    box = visit.page.locator(".graph-box").bounding_box()
    visit.page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(visit.page.locator(".neighbours button").first).to_be_visible()
    visit.page.wait_for_function("() => Number(document.querySelector('.query-view .graph-count').dataset.nodes) > 1")


def log_on(browser):
    """A wrong password, a right one, a reload, a log-off."""
    visit = Visit(browser, GUARDED)
    page = visit.page

    def enter(password):
        page.get_by_label("Name").fill("ada")
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Log on").click()

    enter("wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    time.sleep(0.3)
    enter("correct horse")
    expect(page.locator(".cm-content")).to_be_visible()
    visit.run("RETURN 6 * 7 AS answer")
    expect(page.locator(".query-view [role=gridcell]")).to_have_text("42")
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie])")
    assert "correct horse" not in kept and "tanglewood_" not in kept, kept
    page.get_by_role("button", name="Log off").click()
    expect(page.get_by_label("Password")).to_be_visible()
    visit.picture("log-on")
    enter("correct horse")
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()
    visit.end()


STEPS = [
    first_query, many_rows, error, completion, attack, ten_thousand, neighbours, expand, plan, languages, stop_and_kill,
    subscription, time_travel, load, schema, past, looks, accessible,
]  # fmt: skip

ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=BROWSER, args=ARGUMENTS)
    log_on(browser)
    visit = Visit(browser, OPEN)
    for step in STEPS:
        began = time.monotonic()
        step(visit)
        print(f"{step.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    visit.end()
    browser.close()
