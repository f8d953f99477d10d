"""``python -m monitor.prometheus.dashboards`` writes Grafana's JSON of every dashboard beside this file."""

import json
from pathlib import Path
from typing import Any

from monitor.prometheus.panels import DASHBOARDS, Dashboard, Panel

DIRECTORY = Path(__file__).parent / "dashboards"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 12, 8


def drawn(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana reads it; two panels a row."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.about,
        "tags": ["odradek"],
        "schemaVersion": 39,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "links": [
            {
                "title": "Odradek",
                "type": "dashboards",
                "tags": ["odradek"],
                "asDropdown": True,
                "icon": "",
                "tooltip": "",
                "targetBlank": False,
                "includeVars": True,
                "keepTime": True,
            }
        ],
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(dashboard.panels)],
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": _SOURCE,
        "gridPos": {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(panel.series)
        ],
    }


def text(dashboard: Dashboard) -> str:
    """The file's content."""
    return json.dumps(drawn(dashboard), indent=1) + "\n"


def main() -> None:
    """Write all."""
    DIRECTORY.mkdir(exist_ok=True)
    for dashboard in DASHBOARDS:
        (DIRECTORY / f"{dashboard.uid}.json").write_text(text(dashboard))


if __name__ == "__main__":
    main()
