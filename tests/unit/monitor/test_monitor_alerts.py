"""Alerts, dashboards and the page of metrics: each alert fires when it must and not when it must not."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard as GrafanaDashboard

from infra.telemetry.catalog import metrics, page
from monitor.findings import KINDS
from monitor.prometheus import dashboards
from monitor.prometheus.panels import DASHBOARDS, ERRORS
from monitor.rates import WELL

ROOT = Path(__file__).resolve().parents[3]
PROMETHEUS = ROOT / "monitor" / "prometheus"
ALERTS = Path(__file__).parent / "alerts" / "alerts.yml"
_NAME = re.compile(r"\b(?:odradek_[a-z0-9_]+)")


def run(program: str, *arguments: str, cwd: Path = PROMETHEUS) -> str:
    """What a tool of Prometheus says, once it has succeeded. Skips where it is missing."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} judges the rules: apt-get install prometheus prometheus-alertmanager")
    done = subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules() -> list[dict[str, Any]]:
    """Every rule."""
    return [
        rule for group in yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"] for rule in group["rules"]
    ]


def alerts() -> dict[str, dict[str, Any]]:
    """Every alert by name."""
    return {rule["alert"]: rule for rule in rules() if "alert" in rule}


def known_names() -> set[str]:
    """What series of ours are called."""
    found: set[str] = set()
    for each in metrics():
        found |= (
            {f"{each.name}_bucket", f"{each.name}_count", f"{each.name}_sum"}
            if each.kind == "histogram"
            else {each.name}
        )
    return found


def test_each_alert_fires_and_stays_silent_as_the_cases_say(tmp_path: Path) -> None:
    """Every case of the file is played against the rules, by promtool."""
    shutil.copy(PROMETHEUS / "rules.yml", tmp_path)
    shutil.copy(ALERTS, tmp_path)
    assert "SUCCESS" in run("promtool", "test", "rules", "alerts.yml", cwd=tmp_path)


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    """So that no alert is in force that nobody has seen fire, or that always does."""
    cases = [case for test in yaml.safe_load(ALERTS.read_text())["tests"] for case in test["alert_rule_test"]]
    firing = {case["alertname"] for case in cases if case.get("exp_alerts")}
    silent = {case["alertname"] for case in cases if not case.get("exp_alerts")}
    assert firing == silent == set(alerts())


def test_the_examples_are_valid() -> None:
    """Prometheus and Alertmanager take the files as they are."""
    run("promtool", "check", "config", "prometheus.yml")
    run("amtool", "check-config", "alertmanager.yml")


def test_alertmanager_inhibits_alerts_that_exist() -> None:
    """A misspelt name would inhibit nothing, silently."""
    text = (PROMETHEUS / "alertmanager.yml").read_text()
    for value in re.findall(r'alertname=~?"([^"]+)"', text):
        for pattern in value.split("|"):
            assert [name for name in alerts() if re.fullmatch(pattern, name)], pattern


@pytest.mark.parametrize("name", sorted(alerts()))
def test_every_alert_leads_to_its_runbook(name: str) -> None:
    """The page exists and says what it means, where to look and what to do; severity and dimension are set."""
    rule = alerts()[name]
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["labels"]["dimension"] in ("infrastructure", "service", "business", "user_experience")
    assert rule["annotations"]["runbook"] == f"docs/runbook/{name}.md"
    text = (ROOT / rule["annotations"]["runbook"]).read_text()
    assert text.startswith(f"# {name}\n")
    assert "## Look here first" in text
    assert "## What to do" in text


def test_no_runbook_is_left_over() -> None:
    """A page without an alert is a page that nobody opens."""
    assert {path.stem for path in (ROOT / "docs" / "runbook").glob("*.md")} == set(alerts())


def test_rules_and_dashboards_name_metrics_that_exist() -> None:
    """Every metric of ours in an expression is in the vocabulary; so is every kind of finding."""
    expressions = [rule["expr"] for rule in rules()]
    expressions += [expression for each in DASHBOARDS for panel in each.panels for expression, _ in panel.series]
    named = {name for expression in expressions for name in _NAME.findall(expression)}
    assert named - known_names() == set()
    kinds = {kind for expression in expressions for kind in re.findall(r'kind="(\w+)"', expression)}
    assert kinds <= set(KINDS)


def test_one_meaning_of_failure() -> None:
    """The alert, the dashboards and the page count the same outcomes as failures."""
    assert set(ERRORS.split('"')[1].split("|")) == WELL
    assert ERRORS.startswith("outcome!~")
    [rule] = [rule for rule in rules() if rule.get("record") == "odradek:fetch_errors:rate5m"]
    assert ERRORS in rule["expr"]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: str(each.uid))
def test_dashboards_are_what_grafana_reads(dashboard: Any) -> None:
    """Each file is current, and Grafana's own types read every panel, expression and unit of it."""
    text = (dashboards.DIRECTORY / f"{dashboard.uid}.json").read_text()
    assert text == dashboards.text(dashboard), "run `make generated`"
    register_default_plugins()
    read: Any = GrafanaDashboard.from_json(json.loads(text))
    assert read.uid == dashboard.uid
    assert [(panel.title, panel.field_config.defaults.unit) for panel in read.panels] == [
        (panel.title, panel.unit) for panel in dashboard.panels
    ]
    assert [[target.expr for target in panel.targets] for panel in read.panels] == [
        [expression for expression, _ in panel.series] for panel in dashboard.panels
    ]


def test_the_page_of_metrics_is_current() -> None:
    """What is documented is what is there."""
    assert (ROOT / "docs" / "metrics.md").read_text() == page(), "run `make generated`"


BOUNDED = {
    "action",
    "cut",
    "fate",
    "flag",
    "given",
    "group",
    "kind",
    "known",
    "outcome",
    "quantile",
    "reason",
    "rests",
    "stage",
    "state",
    "step",
    "store",
    "table",
    "tier",
    "topic",
    "what",
    "why",
}
"""Labels that cannot grow without end."""


def test_metrics_are_named_as_prometheus_wants() -> None:
    """A prefix, a unit where there is one, a help text of a sentence, and labels that cannot grow without end."""
    units = ("_seconds", "_bytes", "_total", "_ratio", "_characters", "_records")
    for each in metrics():
        assert each.name.startswith("odradek_")
        assert each.text.endswith(".")
        assert each.kind != "histogram" or each.name.endswith(units)
        assert set(each.labels) <= BOUNDED, each
