#!/usr/bin/python3
"""The alerts and the dashboard of examples/operations, in Prometheus, which reads the pages of a real client."""

import http.server
import json
import math
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RULES = os.path.join(ROOT, "examples", "operations", "prometheus", "zklock.rules.yml")
DASHBOARD = os.path.join(ROOT, "examples", "operations", "grafana", "zklock.json")
RULES_TEST = os.path.join(HERE, "rules_test.yml")
RUNBOOK = "docs/operations.md"
QUERIES = "docs/observability.md"
PATIENCE_S = 120
SCRAPES = 4  # a rate needs two, and one may come too late
# What Grafana puts in; its width is 24.
GRAFANA = {"$__rate_interval": "1m", "$__range": "1h", "$job": ".*", "$instance": ".*", "$resource_class": ".*"}
WIDTH = 24


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"in vain for {PATIENCE_S} s: {what}")
        time.sleep(0.2)


def alerts():
    return [rule for group in yaml.safe_load(read(RULES))["groups"] for rule in group["rules"]]


def rule_tests():
    return yaml.safe_load(read(RULES_TEST))["tests"]


def panels():
    return json.loads(read(DASHBOARD))["panels"]


def targets():
    return [(panel["title"], target) for panel in panels() for target in panel.get("targets", ())]


def as_grafana_asks(query):
    for name, value in GRAFANA.items():
        query = query.replace(name, value)
    return query


class Files(unittest.TestCase):
    def promtool(self, *arguments):
        result = subprocess.run(["promtool", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_alerts_fire_when_they_should(self):
        self.promtool("check", "rules", RULES)
        self.promtool("test", "rules", RULES_TEST)

    def test_each_alert_is_tested_when_it_fires_and_when_it_does_not(self):
        cases = [(case["alertname"], bool(case["exp_alerts"])) for test in rule_tests() for case in test["alert_rule_test"]]
        for alert in alerts():
            for fires in True, False:
                self.assertIn((alert["alert"], fires), cases)

    def test_each_alert_has_its_place_in_the_runbook(self):
        """And nothing else has one there."""
        section = read(RUNBOOK).split("\n## When an alert fires\n")[1].split("\n## ")[0]
        self.assertEqual(re.findall("(?m)^### (.*)$", section), [alert["alert"] for alert in alerts()])
        for alert in alerts():
            self.assertEqual(alert["annotations"]["runbook"], f"{RUNBOOK}#{alert['alert'].lower()}")

    def test_panels_have_a_number_and_a_place_of_their_own(self):
        taken = set()
        for panel in panels():
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], WIDTH)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in panels()}), len(panels()))

    def test_variables_have_a_choice(self):
        """Grafana 10 reads it of each, and leaves out a variable that has none: then no panel finds its Prometheus."""
        variables = json.loads(read(DASHBOARD))["templating"]["list"]
        self.assertEqual([one["name"] for one in variables if "current" not in one], [])
        self.assertEqual({panel["datasource"]["uid"] for panel in panels() if panel["type"] != "row"}, {"${datasource}"})
        self.assertIn("datasource", [one["name"] for one in variables])

    def test_panels_say_what_they_show(self):
        for panel in panels():
            if panel["type"] != "row":
                self.assertTrue(panel["title"] and panel["description"] and panel["targets"], panel)
                self.assertIn("unit", panel["fieldConfig"]["defaults"], panel["title"])


class Pages(http.server.ThreadingHTTPServer):
    """The client's page, as a service would answer GET /metrics."""

    def __init__(self, client):
        super().__init__(("127.0.0.1", 0), Page)
        self.client = client
        self.one_at_a_time = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def page(self):
        with self.one_at_a_time:
            self.client.stdin.write(b"\n")
            self.client.stdin.flush()
            return self.client.stdout.read(int(self.client.stdout.readline()))


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        page = self.server.page()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class Scraped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        client = cls.enterClassContext(subprocess.Popen([os.environ["SCRAPED_CLIENT"], os.environ["ZKLOCK_HOSTS"]],
                                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        cls.addClassCleanup(cls.end, client, client.stdin.close)
        pages = cls.enterClassContext(Pages(client))
        cls.addClassCleanup(pages.shutdown)
        cls.start_prometheus(directory.name, pages.server_port)
        wait_until(cls.has_scraped, "Prometheus has read the page")

    @staticmethod
    def end(process, order):
        order()
        if process.wait(PATIENCE_S) != 0:
            raise AssertionError(f"{process.args[0]} has ended with {process.returncode}")

    @classmethod
    def start_prometheus(cls, directory, port):
        with socket.create_server(("127.0.0.1", 0)) as free:
            cls.address = "127.0.0.1:%d" % free.getsockname()[1]
        with open(f"{directory}/prometheus.yml", "w", encoding="utf-8") as file:
            yaml.dump({"global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "1s"},
                       "rule_files": [os.path.realpath(RULES)],
                       "scrape_configs": [{"job_name": "shop", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}]}, file)
        log = open(f"{directory}/log", "wb")  # pylint: disable=consider-using-with
        cls.addClassCleanup(log.close)
        process = subprocess.Popen(["prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}",
                                    f"--web.listen-address={cls.address}"], stdout=log, stderr=log)
        cls.addClassCleanup(cls.end, process, process.terminate)

    @classmethod
    def ask(cls, path, **parameters):
        url = f"http://{cls.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            if refused.code == http.HTTPStatus.SERVICE_UNAVAILABLE:
                raise
            raise AssertionError(f"{parameters}: {refused.read().decode()}") from None

    @classmethod
    def found(cls, query):
        """The labels of each series of it that has a value."""
        return [one["metric"] for one in cls.ask("query", query=query)["result"] if math.isfinite(float(one["value"][1]))]

    @classmethod
    def has_scraped(cls):
        try:
            return cls.found(f"count_over_time(zklock_sessions[5m]) >= {SCRAPES}")
        except OSError:  # it does not listen yet, or says that it is just starting
            return False

    def assert_found(self, queries):
        """Not at once: where a page came too late, there is nothing until the next one."""
        missing = set(queries)
        self.assertTrue(missing)

        def are_found():
            missing.difference_update([query for query in missing if self.found(query)])
            return not missing

        try:
            wait_until(are_found, "")
        except AssertionError:
            self.fail("nothing is found by\n" + "\n".join(missing))

    def test_the_client_has_each_series_of_the_tests_of_the_rules(self):
        self.assert_found(re.sub('(job|instance)="[^"]*", ', "", series["series"])
                          for test in rule_tests() for series in test["input_series"])

    def test_alerts_fire_here_too(self):
        def states():
            return {(one["labels"]["alertname"], one["labels"].get("resource_class"), one["state"])
                    for one in self.ask("alerts")["alerts"]}

        expected = {("ZklockLockLost", "stock", "firing"), ("ZklockClassesOverflow", None, "firing"),
                    ("ZklockNobodyGranted", "order", "pending")}
        wait_until(lambda: expected <= states(), expected)
        self.assertEqual({one for one in states() if one[2] == "firing"}, {one for one in expected if one[2] == "firing"})

    def test_each_query_of_the_dashboard_finds_something(self):
        queries = [as_grafana_asks(target["expr"]) for _, target in targets()]
        self.assertFalse([query for query in queries if "$" in query])
        self.assert_found(queries)

    def test_legends_name_labels_that_are_there(self):
        for title, target in targets():
            query = as_grafana_asks(target["expr"])
            for label in re.findall(r"{{(\w+)}}", target["legendFormat"]):
                wait_until(lambda: [one for one in self.found(query) if label in one],  # pylint: disable=cell-var-from-loop
                           f"{title}: {label}")

    def test_variables_of_the_dashboard_have_values(self):
        asked = [one for one in json.loads(read(DASHBOARD))["templating"]["list"] if one["type"] == "query"]
        values = {}
        for variable in asked:
            metric, label = re.fullmatch(r"label_values\((.*), (\w+)\)", as_grafana_asks(variable["query"]["query"])).groups()
            values[variable["name"]] = self.ask(f"label/{label}/values", **{"match[]": metric})
        self.assertEqual(values["job"], ["shop"])
        self.assertEqual(len(values["instance"]), 1)
        self.assertTrue({"stock", "order"} < set(values["resource_class"]))

    def test_queries_of_the_documentation_find_something(self):
        table = read(QUERIES).split("\n### Questions, and their queries\n")[1].split("\n#")[0]
        rows = [row.split(" | ", 1)[1] for row in table.splitlines() if row.startswith("|") and "`" in row]
        self.assert_found(re.sub(" > 0$", "", query) for row in rows for query in re.findall("`([^`]+)`", row))


if __name__ == "__main__":
    unittest.main()
