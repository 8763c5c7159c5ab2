#!/usr/bin/python3
"""The page of the inventory service in headless Chromium, on real servers.

With INVENTORY_SCREENSHOTS=DIRECTORY it also writes the pictures of the documentation.
"""
import concurrent.futures
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse

from PIL import Image
from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory"))
from instances import Shop, wait_until

STORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/inventory/story")
SCREENSHOTS = os.environ.get("INVENTORY_SCREENSHOTS", "")
SESSION_MS = 2000
SIZE = (1280, 800)
PHONE = (390, 844)
TICKETS = 10
WITHIN_S = 30

# Each text that is seen, with its contrast to what is behind it.
CONTRASTS = """
const light = color => {
  const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = node => {
  const color = getComputedStyle(node).backgroundColor;
  return /, 0\\)$/.test(color) && node.parentElement ? ground(node.parentElement) : color;
};
return [...document.querySelectorAll("body *")].filter(node => node.checkVisibility() && node.tagName !== "OPTION" &&
    [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())).map(node => {
  const [a, b] = [light(getComputedStyle(node).color), light(ground(node))].sort((x, y) => y - x);
  return [node.textContent, (a + 0.05) / (b + 0.05)];
});
"""


def start_browser():
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
                 f"--window-size={SIZE[0]},{SIZE[1]}", "--hide-scrollbars", "--disable-lcd-text",
                 "--disable-background-networking", "--disable-component-update", "--disable-renderer-backgrounding",
                 "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
                 "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.getuid() == 0:  # Chromium's sandbox is not for root
        arguments.append("--no-sandbox")
    for one in arguments:
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


class Page:
    """The page of one instance, in a tab of its own."""

    def __init__(self, browser, instance):
        self.browser, self.instance = browser, instance
        browser.switch_to.new_window("tab")
        self.tab = browser.current_window_handle
        self.resize(*SIZE)
        browser.get(f"http://127.0.0.1:{instance.port}/")
        self.wait(lambda: self.text("connection") == f"Live from {instance.name}.", "the page is live")

    def find(self, selector):
        self.browser.switch_to.window(self.tab)
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def run(self, script, *arguments):
        self.browser.switch_to.window(self.tab)
        return self.browser.execute_script(script, *arguments)

    def text(self, name):
        return self.find(f"#{name}").text

    def lines(self, selector):
        """All at one time: the page changes meanwhile."""
        return self.run("return [...document.querySelectorAll(arguments[0])].map(one => one.innerText)", selector)

    def click(self, selector):
        self.find(selector).click()

    def fill(self, name, value):
        field = self.find(f"#{name}")
        field.clear()
        field.send_keys(value)

    def choose(self, sku):
        self.wait(lambda: sku in self.lines("#sku option"), f"{sku} can be chosen")
        self.click(f"#sku option[value='{sku}']")

    def card(self, sku):
        return "\n".join(self.lines(f"section[data-sku='{sku}']"))

    def stock(self, sku):
        """What is left, what is sold, and what there was; None: it is not shown yet."""
        found = re.search(r"(-?\d+) left, (-?\d+) sold, of (\d+)", self.card(sku))
        return tuple(int(one) for one in found.groups()) if found else None

    def queue(self, sku):
        """(Does it hold, the letter of its kind, the words) of each."""
        return self.run("""return [...document.querySelectorAll(`section[data-sku="${arguments[0]}"] .queue li`)]
            .map(one => [one.className === "holds", one.firstChild.textContent, one.lastChild.textContent])""", sku)

    def who(self, sku):
        """Short: "shop-1 holds to write", in the order of the queue."""
        return [re.sub(r"^(\S+ \w+), (to \w+):.*", r"\1 \2", words) for _, _, words in self.queue(sku)]

    def wait(self, condition, what, seconds=WITHIN_S):
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False
        try:
            wait_until(holds, what, seconds)
        except AssertionError:
            raise AssertionError(f"{what}: not on the page of {self.instance.name}:\n{self.find('body').text}") from None

    def resize(self, width, height=700):
        self.find("body")
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def side(self, name):
        """What a column of the sale says: how many are sold, what was confirmed, and what is in the database."""
        card = "\n".join(self.lines(f"#{name}"))
        sold = re.search(r"(\d+) sold of 10", card)
        counts = re.search(r"Confirmed (\d+) . in the database (\d+)", card)
        return tuple(int(one) for one in (sold[1], *counts.groups())) if sold and counts else None

    def sell(self):
        """Presses the button, and returns both columns as they are at the end."""
        self.run("document.getElementById('sale-answer').textContent = ''")
        self.click("#sell")
        self.wait(lambda: self.text("sale-answer"), "the end of the sale")
        return self.side("without"), self.side("with")

    def harm(self, kind):
        """Presses a button, and returns what was told at its end."""
        self.click(f"[data-harm={kind}]")
        self.wait(lambda: self.find(f"[data-harm={kind}]").get_attribute("aria-disabled") is None, "the end of the story", 60)
        return self.lines("#told li")

    def shops(self):
        return self.lines("#instances li")

    def picture(self, name):
        if SCREENSHOTS:
            self.find("body")
            picture = Image.open(io.BytesIO(self.browser.get_screenshot_as_png()))
            picture.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1).save(os.path.join(SCREENSHOTS, f"{name}.png"), optimize=True)


class OnePage(unittest.TestCase):
    count, demonstration = 3, 1
    allowed = ""  # what the console may say, beside that an order was refused (409)

    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def setUp(self):
        self.shop = Shop(self.count, session_timeout_ms=SESSION_MS, patience_ms=30000,
                         demonstration=self.demonstration)
        self.addCleanup(self.shop.end)
        self.shop.add("ticket", 10)
        self.pool = concurrent.futures.ThreadPoolExecutor(8)
        self.addCleanup(self.pool.shutdown)
        self.first = self.browser.current_window_handle

    def tearDown(self):
        try:
            self.judge_requests()
            self.judge_console()
        finally:
            for tab in self.browser.window_handles:
                if tab != self.first:
                    self.browser.switch_to.window(tab)
                    self.browser.close()
            self.browser.switch_to.window(self.first)

    def judge_requests(self):
        messages = [json.loads(one["message"])["message"] for one in self.browser.get_log("performance")]
        urls = [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]
        self.assertTrue(urls)
        others = [url for url in urls if urllib.parse.urlsplit(url).hostname != "127.0.0.1"
                  and not url.startswith(("data:", "about:", "chrome:"))]
        self.assertEqual(others, [])

    def judge_console(self):
        """The browser itself writes a line for each request that did not succeed."""
        wrong = [one["message"] for one in self.browser.get_log("browser")
                 if one["source"] != "network"
                 or not re.search("status of 409" + self.allowed, one["message"])]
        self.assertEqual(wrong, [])

    def later(self, function, *arguments, **more):
        return self.pool.submit(function, *arguments, **more)


class Shows(OnePage):
    def test_an_order_at_another_instance(self):
        here, there = Page(self.browser, self.shop[0]), Page(self.browser, self.shop[1])
        buyer = "<b>Ada</b> & <img src=x onerror=alert(1)>"
        here.choose("ticket")
        here.fill("units", "3")
        here.fill("buyer", buyer)
        here.click("#order button")
        here.wait(lambda: "3 × ticket, from shop-1, token" in here.text("answer"), "the order is placed")
        there.wait(lambda: there.stock("ticket") == (7, 3, 10), "the other's stock")
        there.wait(lambda: there.lines("#orders li")[:1], "the other's orders")
        self.assertIn(f"{buyer}: 3 × ticket, at shop-1, token ", there.lines("#orders li")[0])
        here.fill("units", "8")
        here.click("#order button")
        here.wait(lambda: here.text("answer") == "Not done: too little is left.", "the reason")
        here.click("#read")
        here.wait(lambda: here.text("answer") == "7 left, 3 sold, read under a read lock.", "what was read")
        here.fill("units", "5")
        here.click("#restock")
        there.wait(lambda: there.stock("ticket") == (12, 3, 15), "the restock")

    def test_the_queue_as_it_moves(self):
        page = Page(self.browser, self.shop[2])
        page.wait(lambda: page.stock("ticket"), "the product")
        asked = []
        for number, ask in enumerate((
                lambda: self.later(self.shop[0].order, "ticket", think_ms=4000),
                lambda: self.later(self.shop[1].get, "/products/ticket"),
                lambda: self.later(self.shop[2].order, "ticket", think_ms=3000))):
            asked.append(ask())
            page.wait(lambda count=number + 1: len(page.queue("ticket")) == count, f"{number + 1} in the queue")
        self.assertEqual(page.who("ticket"), ["shop-1 holds to write", "shop-2 waits to read", "shop-3 waits to write"])
        self.assertEqual([letter for _, letter, _ in page.queue("ticket")], ["W", "R", "W"])
        self.assertRegex(page.queue("ticket")[0][2], r"token [1-9]\d*, asked \d\.\d s ago$")
        self.assertNotIn("token", page.queue("ticket")[1][2])
        self.assertNotEqual(*(page.run("return getComputedStyle(arguments[0]).borderLeftStyle",
                                       page.find(f"[data-sku=ticket] .queue li.{kind}")) for kind in ("holds", "waits")))
        page.wait(lambda: page.who("ticket") == ["shop-3 holds to write"], "the queue moves on")
        page.wait(lambda: "Nobody holds its lock." in page.card("ticket"), "the queue is empty")
        self.assertEqual([one.result()[0] for one in asked], [201, 200, 201])
        self.assertEqual(asked[1].result()[1]["left"], 9)
        page.wait(lambda: page.stock("ticket") == (8, 2, 10), "the stock")


class Takes(OnePage):
    allowed = "|net::ERR_"

    def test_the_next_one_when_the_holder_is_killed(self):
        page, lost = Page(self.browser, self.shop[2]), Page(self.browser, self.shop[0])
        killed = self.later(self.try_order, self.shop[0], "killed", 60000)
        page.wait(lambda: page.who("ticket") == ["shop-1 holds to write"], "it holds the lock")
        next_one = self.later(self.shop[1].order, "ticket", think_ms=3000)
        page.wait(lambda: page.who("ticket") == ["shop-1 holds to write", "shop-2 waits to write"], "and the next waits")
        self.shop[0].kill()
        page.wait(lambda: page.who("ticket") == ["shop-2 holds to write"], "the next one takes over")
        self.assertEqual((killed.result(), next_one.result()[0]), (None, 201))
        page.wait(lambda: page.stock("ticket") == (9, 1, 10), "only its order is placed")
        # The page of the killed one looks through another, and no page lists it.
        lost.wait(lambda: re.match(r"Live from shop-[23]\.$", lost.text("connection")), "and through whom it looks")
        lost.wait(lambda: lost.stock("ticket") == (9, 1, 10), "and what that sees")
        for one in (page, lost):
            one.wait(lambda seen=one: seen.shops() == ["shop-2", "shop-3"], "it has left the list")
        # The buyer asks again, with the same key; and the instance comes back.
        self.assertEqual(self.shop[1].order("ticket", key="killed")[0], 201)
        lost.wait(lambda: lost.stock("ticket") == (8, 2, 10), "the killed one's order, asked for again")
        self.shop[0].restart()
        self.shop[0].wait_ready()
        lost.wait(lambda: lost.shops() == ["shop-1", "shop-2", "shop-3"], "it is back")

    @staticmethod
    def try_order(instance, key, think_ms):
        try:
            return instance.order("ticket", key=key, think_ms=think_ms)
        except OSError:
            return None


class Sells(OnePage):
    """The one button."""

    def stored(self, end):
        one = next(one for one in self.shop[2].get("/products")[1]["products"] if one["sku"].endswith(end))
        return one["left"], one["sold"], one["stocked"]

    def test_too_much_without_a_lock_and_with_it_exactly_what_is_there(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.text("headline") == "Three shops, one stock of 10 tickets. 50 people want one.", "all shops")
        self.assertEqual([len(page.run("return [...document.querySelectorAll(arguments[0])]", f"#{side} .units .left"))
                          for side in ("without", "with")], [TICKETS] * 2)
        page.click("#sell")
        seen = {"without": set(), "with": set()}
        waits = set()

        def over():
            for side, known in seen.items():
                known.add(page.side(side))
            waits.update(re.findall(r"shop-\d has the lock, (\d) wait", "\n".join(page.lines("#with .counts"))))
            return page.text("sale-answer")
        page.wait(lambda: (page.side("with") or [0])[0] >= 4, "the middle of the sale")
        page.wait(over, "the sale")
        for side, known in seen.items():
            self.assertGreater(len(known), 3, side)  # it fills before one's eyes
        self.assertTrue({int(one) for one in waits} - {0})
        without, locked = page.side("without")[0], page.side("with")[0]
        self.assertGreater(without, TICKETS)
        self.assertEqual(locked, TICKETS)
        self.assertLessEqual(max(known[0] for known in seen["with"] if known), TICKETS)
        self.assertEqual(page.text("headline"), "Three shops, one stock: without a lock they sold "
                                                f"{without} of 10 tickets. With a lock: 10 of 10.")
        self.assertIn(f"{without - TICKETS} people hold a ticket that does not exist.", page.lines("#without .verdict"))
        self.assertEqual(page.lines("#with .verdict"), ["40 people were told: sold out."])
        self.assertIn(f"Confirmed {without} = in the database {without}.", page.lines("#without .counts"))
        self.assertEqual(page.lines("#with .counts"), ["Confirmed 10 = in the database 10."])
        self.assertEqual(self.stored("-without")[1:], (without, TICKETS))
        self.assertEqual(self.stored("-with"), (0, TICKETS, TICKETS))
        self.assertEqual([len(page.run("return [...document.querySelectorAll(arguments[0])]", f"#{side} .units .none"))
                          for side in ("without", "with")], [without - TICKETS, 0])
        page.picture("sale")

    def test_above_the_fold(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.shops() == ["shop-1", "shop-2", "shop-3"], "all shops")
        for size in (SIZE, PHONE):
            page.resize(*size)
            before = page.run("return document.getElementById('sell').getBoundingClientRect().top")
            page.sell()
            self.assertEqual(page.run("return scrollY"), 0)
            self.assertEqual(page.run("return document.getElementById('sell').getBoundingClientRect().top"), before)
            places = page.run("""return [...document.querySelectorAll("#headline, #sell, .units, .sold, .verdict, .counts, #sale-answer")]
                .filter(one => one.closest(".sale, h1")).map(one => [one.id || one.className, one.getBoundingClientRect().bottom])""")
            self.assertEqual([place for place in places if place[1] > size[1]], [])
            self.assertEqual(len(page.run("""const [a, b] = [...document.querySelectorAll(".side")].map(one => one.getBoundingClientRect());
                return a.top === b.top && a.right < b.left ? [1] : []""")), 1)  # side by side

    def test_what_others_have_sold_is_counted_apart(self):
        self.assertEqual(self.shop[0].order("ticket", 3)[0], 201)
        page = Page(self.browser, self.shop[1])
        page.wait(lambda: "Not counted above: 3 units that others have sold here" in page.text("others"), "the others'")
        page.sell()
        page.click("#order button")
        page.wait(lambda: page.stock("ticket") == (6, 4, 10), "the viewer's own order")
        page.wait(lambda: "Not counted above: 3 units" in page.text("others"), "the others' alone")
        for _ in range(2):
            self.assertEqual(self.shop[2].order("ticket")[0], 201)
        page.wait(lambda: "Not counted above: 5 units" in page.text("others"), "what they sell since")
        self.assertNotIn("do not exist", page.text("others"))
        # Another viewer sees the sale as somebody else's.
        other = Page(self.browser, self.shop[0])
        other.wait(lambda: "do not exist" in other.text("others"), "the sale without a lock")


class Harms(OnePage):
    """A holder, by each of the buttons."""

    allowed = "|status of 503|net::ERR_"

    def judge(self, page, told):
        """Who held, with what token; and who sold, with what."""
        holder, held = re.match(r"(shop-\d) has the lock, with token (\d+)\. It has read \"1 left\", and is ", told[0]).groups()
        rival, sold = re.match(r"(shop-\d) gets the lock \d+\.\d s later, with token (\d+), and sells the ticket\.", told[1]).groups()
        self.assertNotEqual(holder, rival)
        self.assertLess(int(held), int(sold))
        self.assertEqual((len(told), told[3]), (4, "In the database: 1 sold of 1."))
        lanes = page.lines("#lanes .lane")
        self.assertEqual([lane.split("\n")[0] for lane in lanes], [holder, rival])
        self.assertIn(f"token {held}", lanes[0])
        self.assertIn(f"token {sold}", lanes[1])
        return holder, held, sold

    def judge_late_write(self, page, told, how):
        holder, held, sold = self.judge(page, told)
        self.assertEqual(told[2], f"{holder} {how} as if it still had the lock. The database refuses: token {held} < {sold}.")
        self.assertIn("refused", page.lines("#lanes .lane")[0])

    def test_stop(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        page.run("document.getElementById('harm-title').scrollIntoView()")
        self.judge_late_write(page, page.harm("stop"), "wakes up, and writes")
        self.assertEqual(len(self.shop[2].logged("harmed", by="stop")), 1)
        self.assertEqual(page.run("return document.activeElement.dataset.harm"), "stop")
        page.picture("refused")
        # Both lanes, token by token, lie within the page of a phone, too.
        page.resize(*PHONE)
        self.assertEqual(page.run("""return [...document.querySelectorAll("#lanes .track > *")]
            .filter(one => one.getBoundingClientRect().right > innerWidth).length"""), 0)

    def test_kill(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        told = page.harm("kill")
        self.judge(page, told)
        self.assertEqual(told[2], "shop-3 is gone. Nobody has to free its lock: ZooKeeper did.")
        self.assertEqual(self.shop[2].process.wait(timeout=10), -9)
        page.wait(lambda: page.shops() == ["shop-1", "shop-2"], "it leaves the list")

    def test_cut_off_from_zookeeper(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        self.judge_late_write(page, page.harm("cut_zookeeper"), "knows nothing of that, and writes")
        page.wait(lambda: self.shop[2].get("/health")[0] == 200, "it is back")

    def test_cut_off_from_the_database(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        told = page.harm("cut_database")
        holder, _, _ = self.judge(page, told)
        self.assertEqual(told[2], f"{holder} could not write: it told its buyer so, and gave the lock back at once.")
        page.wait(lambda: self.shop[2].get("/health")[0] == 200, "it is back")

    def test_that_cannot_be_shown(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        self.shop[2].process.send_signal(signal.SIGSTOP)  # it takes no lock, and the page does not know yet
        self.addCleanup(self.shop[2].process.send_signal, signal.SIGCONT)
        self.assertEqual(page.harm("stop"),
                         ["This could not be shown: nobody saw shop-3 hold the lock. Its answer: shop-3 does not answer."])


class Loses(OnePage):
    allowed = "|status of 503"

    def ensemble(self, *words):
        subprocess.run([*shlex.split(os.environ["ZKLOCK_ENSEMBLE"]), *words], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def test_the_ensemble(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: "Nobody holds its lock." in page.card("ticket"), "the queue")
        self.addCleanup(self.ensemble, "start", "2", "3")
        self.ensemble("stop", "2", "3")
        page.wait(lambda: re.match("shop-1 has (lost its connection to|no session with) ZooKeeper, and takes no orders",
                                   page.text("connection")), "the loss")
        page.wait(lambda: "Nobody knows who holds its lock." in page.card("ticket"), "and what it does not know")
        page.click("#order button")
        page.wait(lambda: page.text("answer").startswith("Not done: "), "an order is turned away")
        self.assertEqual(page.stock("ticket"), (10, 0, 10))
        self.ensemble("start", "2", "3")
        page.wait(lambda: page.text("connection") == "Live from shop-1.", "it is back")
        page.click("#order button")
        page.wait(lambda: page.stock("ticket") == (9, 1, 10), "an order")


class IsLeft(OnePage):
    """One of three, and not the page's own."""

    allowed = "|net::ERR_"

    def test_with_every_button(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.shops()) == 3, "all shops")
        page.choose("ticket")
        self.shop[0].kill()
        self.shop[1].kill()
        page.click("#order button")  # at once: nobody has missed them yet
        page.wait(lambda: "Ada has 1 × ticket, from shop-3, token" in page.text("answer"), "the order")
        page.wait(lambda: page.text("connection") == "Live from shop-3." and page.shops() == ["shop-3"], "who is left")
        page.wait(lambda: page.stock("ticket") == (9, 1, 10), "the stock")
        for button, answer in (("#read", "9 left, 1 sold, read under a read lock."), ("#restock", "1 × ticket restocked, token")):
            page.click(button)
            page.wait(lambda expected=answer: expected in page.text("answer"), f"what {button} says")
        without, locked = page.sell()
        self.assertGreater(without[0], TICKETS)
        self.assertEqual(without[1], without[2])
        self.assertEqual(locked, (TICKETS,) * 3)
        self.assertIn("One shop, one stock: without a lock", page.text("headline"))
        for kind in ("stop", "kill", "cut_zookeeper", "cut_database"):
            self.assertEqual(page.harm(kind),
                             ["This could not be shown: only one shop lives, and another has to want the ticket."])
        self.assertEqual((self.shop[2].logged("harmed"), self.shop[2].get("/health")[0]), ([], 200))


class IsServed(OnePage):
    """By the story, with --serve."""

    count = 1
    allowed = "|net::ERR_"

    def serve(self, *words):
        story = subprocess.Popen([STORY, "--serve", *words], stdout=subprocess.PIPE, text=True)
        self.addCleanup(story.stdout.close)
        self.addCleanup(story.wait)
        self.addCleanup(story.terminate)
        return next(re.search(r"http://\S+/", line)[0] for line in story.stdout if "The page:" in line)

    def test_and_one_that_was_killed_comes_back(self):
        page = Page(self.browser, self.shop[0])
        page.browser.get(self.serve("--scenario", "hair-dryers-rush"))
        page.wait(lambda: page.shops() == ["shop-1", "shop-2", "shop-3"], "all shops")
        page.wait(lambda: "units that others have sold here, before you came or since; 3 of them do not exist" in page.text("others"),
                  "what the scenario has sold")
        page.harm("kill")
        page.wait(lambda: page.shops() == ["shop-1", "shop-2"], "it leaves the list")
        page.wait(lambda: page.shops() == ["shop-1", "shop-2", "shop-3"], "it is back")
        self.assertEqual(page.sell()[1], (TICKETS,) * 3)


class IsGone(OnePage):
    """Everybody is: what the buttons say."""

    allowed = "|net::ERR_"
    count = 2

    def test_with_every_button(self):
        page = Page(self.browser, self.shop[0])
        page.choose("ticket")
        self.shop[0].kill()
        self.shop[1].kill()
        page.wait(lambda: page.text("connection") == "No shop answers: what you see is old.", "it says so")
        for button in ("#order button", "#read", "#restock"):
            page.run("document.getElementById('answer').textContent = ''")
            page.click(button)
            page.wait(lambda: re.match("Not done: (no shop answers|shop-. does not answer)", page.text("answer")),
                      f"what {button} says")
        page.click("#sell")
        page.wait(lambda: page.text("sale-answer").startswith("No sale: no shop answers"), "what the sale says")
        for kind in ("stop", "kill", "cut_zookeeper", "cut_database"):
            self.assertRegex(page.harm(kind)[0], "^This could not be shown: (no shop answers|only one shop lives)")


class HasLongNames(OnePage):
    def test_without_a_space(self):
        self.shop[0].post("/products", {"sku": "W" * 64, "name": "W" * 200, "units": 1})
        self.assertEqual(self.shop[0].order("W" * 64, buyer="W" * 200, key="W" * 64)[0], 201)
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.stock("W" * 64) == (0, 1, 1), "the product")
        for width in (320, 600, 900, 1200):
            page.resize(width)
            self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width)
            self.assertEqual(page.run("""return [...document.querySelectorAll("h3, label, select, li, p, .card")]
                .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
                .map(one => one.tagName + one.id)"""), [])


class IsNoDemonstration(OnePage):
    demonstration = 0

    def test_stock_and_orders_only(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.stock("ticket") == (10, 0, 10), "the stock")
        self.assertFalse(page.find("#sell").is_displayed() or page.find("#harms").is_displayed())
        self.assertEqual(page.text("headline"), "The shops, their stock, and who waits for it")
        page.click("#order button")
        page.wait(lambda: page.stock("ticket") == (9, 1, 10), "the order")


class IsForAll(OnePage):
    def setUp(self):
        super().setUp()
        self.page = Page(self.browser, self.shop[0])
        self.page.choose("ticket")

    def tree(self):
        self.page.find("body")
        nodes = self.browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        return [{"role": one["role"]["value"], "name": one.get("name", {}).get("value", ""),
                 **{more["name"]: more["value"].get("value") for more in one.get("properties", [])}}
                for one in nodes if not one["ignored"]]

    def press(self, *keys):
        webdriver.ActionChains(self.browser).send_keys(*keys).perform()

    def tab_to(self, found):
        """Presses the tab key until it is there."""
        for _ in range(30):
            self.press(Keys.TAB)
            if self.page.run("return document.activeElement.matches(arguments[0])", found):
                return
        self.fail(f"the tab key does not get to {found}")

    def test_an_order_by_keyboard(self):
        self.page.run("document.activeElement.blur(); scrollTo(0, 0)")
        self.tab_to("#sell")
        self.tab_to("[data-harm=cut_database]")
        self.tab_to("#sku")
        self.tab_to("#units")
        self.press(Keys.ARROW_UP)
        self.tab_to("#buyer")
        self.press(Keys.DELETE, "Grace")
        self.tab_to("#order button")
        self.assertGreaterEqual(self.page.run("return parseFloat(getComputedStyle(document.activeElement).outlineWidth)"), 2)
        self.press(Keys.ENTER)
        self.page.wait(lambda: "Grace has 2 × ticket, from shop-1, token" in self.page.text("answer"), "the order is placed")
        self.tab_to("#read")
        self.press(Keys.SPACE)
        self.page.wait(lambda: self.page.text("answer").startswith("8 left"), "what was read")

    def test_the_focus_stays(self):
        for name in ("sku", "units", "sell", "instances a"):
            self.page.run(f"""window.kept = document.querySelector("#{name}"); kept.focus()""")
            for number in range(3):
                self.shop[1].order("ticket")
                self.shop.add(f"new-{name.split()[0]}-{number}", 1)
                time.sleep(0.6)
            self.assertTrue(self.page.run("return document.activeElement === kept"), name)
            if name == "sku":
                self.assertEqual(self.page.find("#sku").get_attribute("value"), "ticket")

    def test_the_accessibility_tree(self):
        self.shop[1].order("ticket")
        self.page.wait(lambda: self.page.stock("ticket") == (9, 1, 10), "the order")
        tree = self.tree()
        for role in ("main", "navigation"):
            self.assertEqual([one["role"] for one in tree].count(role), 1, role)
        controls = [one for one in tree if one["role"] in (
            "textbox", "spinbutton", "combobox", "button", "link", "list", "region", "log")]
        names = {one["name"] for one in controls}
        self.assertLessEqual({"Product", "Units", "Buyer", "Order", "Sell 10 tickets to 50 people", "Kill it",
                              "Cut it off from ZooKeeper", "ticket", "shop-1"}, names)
        for one in controls:
            self.assertTrue(one["name"] or one["role"] == "list", one)
        self.assertEqual([one["role"] for one in tree].count("status"), 3)
        self.assertEqual([one["role"] for one in tree].count("log"), 1)
        levels = [one["level"] for one in tree if one["role"] == "heading"]
        self.assertEqual(levels[0], 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1)
        self.assertEqual(self.page.run("return document.documentElement.lang"), "en")

    def emulate(self, **features):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def test_contrast_and_motion(self):
        self.page.wait(lambda: len(self.page.shops()) == 3, "all shops")
        self.page.sell()
        self.page.harm("stop")
        for scheme in ("light", "dark"):
            self.emulate(prefers_color_scheme=scheme, prefers_reduced_motion="reduce")
            contrasts = self.page.run(CONTRASTS)
            self.assertGreater(len(contrasts), 30)
            for words, contrast in contrasts:
                self.assertGreaterEqual(contrast, 4.5, f"{scheme}: {words}")
            self.assertEqual(self.page.run(
                "return [...document.querySelectorAll('*')].filter(one => getComputedStyle(one).transitionDuration !== '0s')"
                ".length"), 0)

    def test_narrow_screens(self):
        for width in (320, 600, 900):
            self.page.resize(width)
            self.assertEqual(self.page.run("return [innerWidth, document.documentElement.scrollWidth]")[0], width)
            self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main()
