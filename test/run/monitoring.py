#!/usr/bin/env python3
"""The alert rules and the dashboard of tools/monitoring, in Debian's Prometheus.

1. Rules, dashboard and the planted page name only metrics that dtrun's source has.
2. promtool plays planted series: each alert fires on its condition, and not in a sound run or one just below the limit.
3. Prometheus loads the rules and scrapes a real run and a planted page: each query of the dashboard has values of the
   run, or of the page where it is about stragglers or experts; the page's conditions raise their alerts, and the run
   raises no critical one.

Prometheus is on the PATH, or where tools/setup.sh --tests put it; without it the test is skipped with exit code 77.
"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from dtc_tools import BIN
from watching import OPENER, check, compiled

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "tools" / "monitoring"
METRIC = re.compile(r"\bdtc_[a-z_]+")

# The page of a run that is in trouble; labels, value.
PLANTED = {
    "dtc_last_step_timestamp_seconds": [("", 1e9)], "dtc_step_seconds": [("", 0.5)], "dtc_loss": [("", "NaN")],
    "dtc_straggler_rank": [("", 3)], "dtc_straggler_cost_ratio": [("", 0.3)], "dtc_elapsed_seconds": [("", 4000)],
    "dtc_goodput_ratio": [('cause="training"', 0.5), ('cause="checkpoint"', 0.4)],
    "dtc_step_part_seconds": [('part="input_wait"', 0.2)], "dtc_expert_imbalance_ratio": [("", 3)],
    "dtc_expert_rounds": [("", 2)], "dtc_step": [("", 10)], "dtc_run_steps": [("", 20)],
}
RAISED = {"DtcRunStandsStill", "DtcLossNotFinite", "DtcStraggler", "DtcLowGoodput", "DtcCheckpointsAreSlow",
          "DtcWaitsForData", "DtcExpertsImbalanced"}
PLANTED_ONLY = ("dtc_straggler_cost_ratio", "dtc_expert_")  # a sound dense run has none

# alert -> (series that raise it, those of runs just below its limit, minute at which it fires, severity).
# A series is a metric with its labels, and values a minute in the notation of promtool.
CONDITIONS = {
    "DtcRunStandsStill": ({"dtc_last_step_timestamp_seconds": "0+60x10 600x170", "dtc_step_seconds": "1x180"},
                          {"dtc_last_step_timestamp_seconds": "0+60x10 600x170", "dtc_step_seconds": "600x180"},
                          20, "critical"),
    "DtcRunEndedEarly": ({"dtc_step": "0+10x20 stale", "dtc_run_steps": "1000x20 stale"},
                         [{"dtc_step": "0+10x20 stale", "dtc_run_steps": "200x20 stale"},
                          {"dtc_step": "0+10x40", "dtc_run_steps": "1000x40"}], 26, "critical"),
    "DtcLossNotFinite": ({"dtc_loss": "4x5" + " NaN" * 30}, {"dtc_loss": "1000000x180"}, 20, "critical"),
    "DtcLossSpiked": ({"dtc_roll_backs_total": "0x10 1x170"}, {"dtc_roll_backs_total": "7x180"}, 20, "warning"),
    "DtcStepsSkipped": ({"dtc_skipped_steps_total": "0x10 0+2x170"}, {"dtc_skipped_steps_total": "0x32 2 4x140"},
                        40, "warning"),
    "DtcStraggler": ({"dtc_straggler_cost_ratio": "0.06x180"}, {"dtc_straggler_cost_ratio": "0.04x180"}, 10,
                     "warning"),
    "DtcLowGoodput": ({'dtc_goodput_ratio{cause="training"}': "0.7x180", "dtc_elapsed_seconds": "0+60x180"},
                      {'dtc_goodput_ratio{cause="training"}': "0.7x180", "dtc_elapsed_seconds": "3000x180"}, 80,
                      "warning"),
    "DtcCheckpointsAreSlow": ({'dtc_goodput_ratio{cause="checkpoint"}': "0.2x180", "dtc_elapsed_seconds": "0+60x180"},
                              {'dtc_goodput_ratio{cause="checkpoint"}': "0.09x180",
                               "dtc_elapsed_seconds": "0+60x180"}, 30, "warning"),
    "DtcWaitsForData": ({'dtc_step_part_seconds{part="input_wait"}': "0.2x180", "dtc_step_seconds": "1x180"},
                        {'dtc_step_part_seconds{part="input_wait"}': "0.05x180", "dtc_step_seconds": "1x180"}, 20,
                        "warning"),
    "DtcThroughputFell": ({"dtc_samples_per_second": "100x120 50x60"}, {"dtc_samples_per_second": "100x120 81x60"},
                          145, "warning"),
    "DtcMemoryGrows": ({"dtc_memory_resident_bytes": "1000000000+1000000x180", "dtc_elapsed_seconds": "0+60x180"},
                       {"dtc_memory_resident_bytes": "1000000000+100000x180", "dtc_elapsed_seconds": "0+60x180"},
                       170, "warning"),
    "DtcExpertsImbalanced": ({"dtc_expert_imbalance_ratio": "2.1x180"}, {"dtc_expert_imbalance_ratio": "1.9x180"},
                             30, "warning"),
}


def program(name):
    """Returns the path of Debian's program, or None."""
    unpacked = BIN.parent / "test-prometheus" / "usr" / "bin" / name
    return shutil.which(name) or (str(unpacked) if unpacked.exists() else None)


def queries():
    """Returns the queries of the dashboard, with the name of their panel."""
    dashboard = json.loads((FILES / "dashboard.json").read_text())
    found = [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]
    check(len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"]), "panels share an id")
    check(len(found) > 20 and all('instance=~"$instance"' in expr for _, expr in found), f"queries are {found}")
    return found


def check_names():
    known = set(re.findall(r'"(dtc_[a-z_]+)"', (ROOT / "tools" / "dtrun" / "MetricsPage.cpp").read_text()))
    texts = {"alerts.yml": (FILES / "alerts.yml").read_text(),
             "dashboard.json": " ".join(expr for _, expr in queries()),
             "the planted page": " ".join(PLANTED), "the planted series": " ".join(
                 series for raising, below, _, _ in CONDITIONS.values()
                 for condition in [raising, *listed(below)] for series in condition)}
    for where, text in texts.items():
        check(set(METRIC.findall(text)) <= known, f"{where} names {set(METRIC.findall(text)) - known}")
    print(f"all names are among dtrun's {len(known)} metrics", flush=True)


# 2. Planted series.

def listed(below):
    return below if isinstance(below, list) else [below]


def labelled(series, instance):
    name, _, labels = series.partition("{")
    return f'{name}{{job="dtc",instance="{instance}"' + (f",{labels}" if labels else "}")


def check_alerts(folder):
    alerts = re.findall(r"- alert: (\w+)", (FILES / "alerts.yml").read_text())
    check(sorted(alerts) == sorted(CONDITIONS), f"alerts are {alerts}")
    tests = []
    for alert, (raising, below, minute, severity) in CONDITIONS.items():
        series = [{"series": labelled(each, instance), "values": values} for instance, condition in
                  (("bad", raising), *zip(("good", "also good"), listed(below))) for each, values in condition.items()]
        firing = f'count by (instance, severity) (ALERTS{{alertname="{alert}",alertstate="firing"}})'
        sample = {"labels": f'{{instance="bad", severity="{severity}"}}', "value": 1}
        tests.append({"name": alert, "interval": "1m", "input_series": series, "promql_expr_test": [
            {"expr": firing, "eval_time": "0m", "exp_samples": []},
            {"expr": firing, "eval_time": f"{minute}m", "exp_samples": [sample]}]})
    shutil.copy(FILES / "alerts.yml", folder)
    (folder / "tests.yml").write_text(json.dumps({"rule_files": ["alerts.yml"], "evaluation_interval": "1m",
                                                  "tests": tests}))
    for command in (["check", "config", str(FILES / "prometheus.yml")], ["test", "rules", str(folder / "tests.yml")]):
        result = subprocess.run([program("promtool"), *command], capture_output=True, text=True, timeout=120)
        check(result.returncode == 0, f"promtool {command}:\n{result.stdout}{result.stderr}")
    print(f"{len(alerts)} alerts fire on their conditions alone", flush=True)


# 3. A real Prometheus.

class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        text = "".join(f"# TYPE {name} gauge\n" + "".join(f"{name}{{{labels}}} {value}\n" for labels, value in samples)
                       for name, samples in PLANTED.items())
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def ask(port, what, **arguments):
    url = f"http://127.0.0.1:{port}/api/v1/{what}?" + urllib.parse.urlencode(arguments)
    with OPENER.open(url, timeout=10) as answer:
        reply = json.loads(answer.read())
    check(reply["status"] == "success", f"{url}: {reply}")
    return reply["data"]


def wait_until(holds, what, seconds=90):
    deadline = time.monotonic() + seconds
    while not holds():
        check(time.monotonic() < deadline, f"after {seconds} s {what}")
        time.sleep(0.5)


def check_prometheus(folder):
    dte, ranks = compiled(folder, "dp=2,tp=1", precision="f16")
    (folder / "eval.bin").write_bytes(bytes(random.Random(1).randrange(61) for _ in range(600)))
    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    planted = f"127.0.0.1:{server.server_port}"
    run = subprocess.Popen([BIN / "dtrun", dte, "-n", str(ranks), "--data", "synthetic", "--steps", "100000000",
                            "--metrics-port", "0", "--norms-every", "10", "--threads", "1", "--eval-data",
                            f"bytes:{folder / 'eval.bin'}", "--eval-every", "20"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    prometheus = None
    try:
        real = re.search(r"http://([^/]+)/metrics", run.stderr.readline())[1]
        port = random.Random(os.getpid()).randrange(20000, 32000)
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(FILES / "alerts.yml")],
            "scrape_configs": [{"job_name": "dtc", "static_configs": [{"targets": [real, planted]}]}]}))
        log = (folder / "prometheus.log").open("w")
        prometheus = subprocess.Popen([program("prometheus"), f"--config.file={folder / 'prometheus.yml'}",
                                       f"--storage.tsdb.path={folder / 'tsdb'}",
                                       f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        wait_until(lambda: "Server is ready" in (folder / "prometheus.log").read_text(), "Prometheus is not ready")
        check_dashboard(port, real, planted)
        wait_until(lambda: RAISED <= {name for name, where in raised(port) if where == planted},
                   "the planted page does not raise all alerts")
        found = raised(port)
        check({name for name, where in found if where == planted} == RAISED, f"alerts are {found}")
        critical = {name for name, (_, _, _, severity) in CONDITIONS.items() if severity == "critical"}
        check(not [name for name, where in found if where == real and name in critical], f"the run raises {found}")
        print(f"Prometheus has {len(RAISED)} alerts of the planted page", flush=True)
    finally:
        for process in (run, prometheus):
            if process:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
        server.shutdown()


def raised(port):
    """Returns the alerts that are pending or firing, and their instances."""
    return [(alert["labels"]["alertname"], alert["labels"]["instance"]) for alert in ask(port, "alerts")["alerts"]]


def check_dashboard(port, real, planted):
    def values(expr, instance):
        return ask(port, "query", query=expr.replace("$instance", instance))["result"]
    wait_until(lambda: values('dtc_eval_loss{instance=~"$instance"}', real)
               and values('dtc_slowest_rank_excess_ratio{instance=~"$instance"}', real)
               and values('dtc_step{instance=~"$instance"}', planted), "the run has not been scraped")
    time.sleep(3)  # so that averages have more than one scrape
    for panel, expr in queries():
        where = planted if any(name in expr for name in PLANTED_ONLY) else real
        found = values(expr, where)
        check(found and all(row["metric"].get("instance") == where for row in found), f"'{panel}': {expr} has {found}")
    check(len(values('dtc_goodput_ratio{instance=~"$instance"}', real)) == 9, "goodput has not nine causes")
    print(f"{len(queries())} queries of the dashboard have values", flush=True)


def main():
    check_names()
    if not program("promtool") or not program("prometheus"):
        print("SKIPPED: Debian's package 'prometheus' is not here; tools/setup.sh --tests brings it")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        check_alerts(Path(name))
        check_prometheus(Path(name))


if __name__ == "__main__":
    main()
