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

SCREENSHOTS = os.environ.get("INVENTORY_SCREENSHOTS", "")
SESSION_MS = 2000
SIZE = (1200, 1180)
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
        here.wait(lambda: "3 × ticket, token" in here.text("answer"), "the order is placed")
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
        # The page of the killed one looks through another.
        lost.wait(lambda: "shop-1 says nothing" in lost.text("connection"), "it says so")
        lost.wait(lambda: re.search(r"You see what shop-[23] sees", lost.text("connection")), "and through whom it looks")
        lost.wait(lambda: lost.stock("ticket") == (9, 1, 10), "and what that sees")
        # The buyer asks again, with the same key; and the instance comes back.
        self.assertEqual(self.shop[1].order("ticket", key="killed")[0], 201)
        lost.wait(lambda: lost.stock("ticket") == (8, 2, 10), "the killed one's order, asked for again")
        self.shop[0].restart()
        self.shop[0].wait_ready()
        lost.wait(lambda: lost.text("connection") == "Live from shop-1.", "it is back")
        lost.wait(lambda: lost.run("return state.instance") == "shop-1", "and tells its page again")

    @staticmethod
    def try_order(instance, key, think_ms):
        try:
            return instance.order("ticket", key=key, think_ms=think_ms)
        except OSError:
            return None


class Tries(OnePage):
    def test_a_holder_that_is_stopped(self):
        page, watcher = Page(self.browser, self.shop[0]), Page(self.browser, self.shop[1])
        page.click("#stop")
        page.wait(lambda: page.text("connection").startswith("shop-1 is stopped. You see what shop-"), "it is stopped")
        page.wait(lambda: len(page.queue("last-1")) == 2, "the other waits")
        self.assertEqual(page.who("last-1")[0], "shop-1 holds to write")
        page.picture("stopped")
        watcher.wait(lambda: page.stock("last-1") == (0, 1, 1), "the other sells")
        page.wait(lambda: len(page.lines("#told li")) == 4, "the end of the story")
        told = page.lines("#told li")
        held = int(re.search(r"with token (\d+)", told[0])[1])
        sold = int(re.search(r"with token (\d+)", told[2])[1])
        self.assertLess(held, sold)
        self.assertTrue(told[3].endswith(f"The database refuses: token {held} < {sold}."), told)
        page.wait(lambda: page.text("connection") == "Live from shop-1.", "it is back")
        self.assertEqual(page.stock("last-1"), (0, 1, 1))
        self.assertEqual(page.run("return document.activeElement.id"), "stop")
        page.picture("refused")

    def test_a_sale_without_locks(self):
        page, watcher = Page(self.browser, self.shop[0]), Page(self.browser, self.shop[1])
        page.click("#locked")
        page.click("#sale button")
        seen = set()
        page.wait(lambda: seen.add(int(page.text("wrong-without"))) or "Sold" in page.text("sale-answer"), "the sale")
        self.assertGreater(len(seen), 3)  # it grows before one's eyes
        self.assertRegex(page.text("sale-answer"), r"^Sold without locks: \d+ of 10 tickets; .* do not exist\.$")
        left, sold, stocked = self.sold("sale-1-without")
        self.assertGreater(sold, stocked)
        for one in (page, watcher):
            one.wait(lambda seen=one: seen.stock("sale-1-without") == (left, sold, stocked), "the stock")
            self.assertIn(f"Oversold: {sold - stocked} sold that do not exist", one.card("sale-1-without"))
            self.assertEqual((one.text("wrong-without"), one.text("wrong-with")), (str(sold - stocked), "0"))
        # The same with locks; then both are side by side.
        page.click("#locked")
        page.click("#sale button")
        page.wait(lambda: (page.stock("sale-2-with") or [10])[0] <= 7 and
                  "R" in [letter for _, letter, _ in page.queue("sale-2-with")[1:4]], "a read in the queue")
        page.picture("sale")
        page.wait(lambda: "Sold with locks" in page.text("sale-answer"), "the sale")

    def test_a_sale_with_locks_never_below_zero(self):
        page = Page(self.browser, self.shop[0])
        page.click("#sale button")
        page.wait(lambda: page.stock("sale-1-with"), "the product")
        seen, lengths = set(), set()

        def over():
            seen.add(page.stock("sale-1-with"))
            seen.add(self.sold("sale-1-with"))
            lengths.add(len(page.queue("sale-1-with")))
            return "Sold" in page.text("sale-answer")
        page.wait(over, "the sale")
        self.assertGreater(len(seen), 3)
        self.assertGreater(max(lengths), 2)
        for left, sold, stocked in seen:
            self.assertGreaterEqual(left, 0)
            self.assertLessEqual(sold, stocked)
        self.assertEqual(self.sold("sale-1-with"), (0, 10, 10))
        self.assertIn("Sold with locks: 10 of 10 tickets; 40 buyers", page.text("sale-answer"))
        self.assertEqual((page.text("wrong-without"), page.text("wrong-with")), ("0", "0"))

    def sold(self, sku):
        one = next(one for one in self.shop[2].get("/products")[1]["products"] if one["sku"] == sku)
        return one["left"], one["sold"], one["stocked"]


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


class IsGone(OnePage):
    """What the buttons say when nobody is behind them."""

    allowed = "|net::ERR_"

    def test_the_instance_of_the_page(self):
        page = Page(self.browser, self.shop[0])
        page.choose("ticket")
        self.shop[0].kill()
        for button in ("#order button", "#read", "#restock"):
            page.run("document.getElementById('answer').textContent = ''")
            page.click(button)
            page.wait(lambda: "shop-1 does not answer" in page.text("answer"), f"what {button} says")
        page.click("#sale button")
        page.wait(lambda: page.text("sale-answer").startswith("No sale: shop-1 does not answer"), "what the sale says")
        page.click("#stop")
        page.wait(lambda: page.lines("#told li")[:1] == ["Nothing was stopped: shop-1 does not answer, or cannot write."],
                  "what the stop says")
        self.assertEqual(page.find("#stop").get_attribute("aria-disabled"), None)

    def test_the_rivals_of_a_holder_that_is_stopped(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: len(page.lines("#instances li")) == 3, "the others are known")
        self.shop[1].kill()
        self.shop[2].kill()
        page.click("#stop")
        page.wait(lambda: any("woke up" in line for line in page.lines("#told li")), "the end of the story")
        told = "\n".join(page.lines("#told li"))
        self.assertIn("Whether it holds the lock was not seen", told)
        for word in ("holds the lock, with", "others wait", "gets the lock", "The session is over"):
            self.assertNotIn(word, told)


class HasLongNames(OnePage):
    def test_without_a_space(self):
        self.shop[0].post("/products", {"sku": "W" * 64, "name": "W" * 200, "units": 1})
        self.assertEqual(self.shop[0].order("W" * 64, buyer="W" * 200, key="W" * 64)[0], 201)
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.stock("W" * 64) == (0, 1, 1), "the product")
        for width in (320, 600, 900, 1200):
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False})
            self.assertLessEqual(page.run("return document.documentElement.scrollWidth"), width)
            self.assertEqual(page.run("""return [...document.querySelectorAll("h3, label, select, li, p, .card")]
                .filter(one => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1)
                .map(one => one.tagName + one.id)"""), [])


class IsAlone(OnePage):
    count = 1

    def test_no_stop_without_somebody_else(self):
        page = Page(self.browser, self.shop[0])
        page.click("#stop")
        page.wait(lambda: page.lines("#told li") == ["Start another instance first: somebody has to want the ticket."],
                  "it says so")
        self.assertEqual(self.shop[0].logged("stopped"), [])


class IsNoDemonstration(OnePage):
    demonstration = 0

    def test_stock_and_orders_only(self):
        page = Page(self.browser, self.shop[0])
        page.wait(lambda: page.stock("ticket") == (10, 0, 10), "the stock")
        self.assertFalse(page.find("#sale").is_displayed() or page.find("#stop").is_displayed())
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
        self.tab_to("#sale #locked")
        self.press(Keys.SPACE)
        self.assertFalse(self.page.find("#locked").is_selected())
        self.tab_to("#stop")
        self.tab_to("#sku")
        self.tab_to("#units")
        self.press(Keys.ARROW_UP)
        self.tab_to("#buyer")
        self.press(Keys.DELETE, "Grace")
        self.tab_to("#order button")
        self.assertGreaterEqual(self.page.run("return parseFloat(getComputedStyle(document.activeElement).outlineWidth)"), 2)
        self.press(Keys.ENTER)
        self.page.wait(lambda: "Grace has 2 × ticket, token" in self.page.text("answer"), "the order is placed")
        self.tab_to("#read")
        self.press(Keys.SPACE)
        self.page.wait(lambda: self.page.text("answer").startswith("8 left"), "what was read")

    def test_the_focus_stays(self):
        for name in ("sku", "units", "locked", "instances a"):
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
        for role in ("banner", "main", "navigation"):
            self.assertEqual([one["role"] for one in tree].count(role), 1, role)
        controls = [one for one in tree if one["role"] in (
            "textbox", "spinbutton", "combobox", "checkbox", "switch", "button", "link", "list", "region", "log")]
        names = {one["name"] for one in controls}
        self.assertLessEqual({"Product", "Units", "Buyer", "Take the lock first", "Order", "Start the sale", "ticket",
                              "shop-1 (this page)"}, names)
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
        self.page.click("#locked")
        self.page.click("#sale button")
        self.page.wait(lambda: "Sold" in self.page.text("sale-answer"), "the sale")
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
        self.page.find("body")
        for width in (320, 600, 900):
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False})
            self.assertEqual(self.page.run("return [innerWidth, document.documentElement.scrollWidth]")[0], width)
            self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width)


if __name__ == "__main__":
    unittest.main()
