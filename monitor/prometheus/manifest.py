"""The alert rules as a resource of the Prometheus operator: ``python -m monitor.prometheus.manifest`` prints it."""

import sys
from importlib.resources import files

HEAD = """\
# Written by `make generated` from monitor/prometheus/rules.yml. Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: odradek
  labels:
    app.kubernetes.io/name: odradek
spec:
"""


def manifest() -> str:
    """The rules' own text, two columns to the right: nothing of it is read or written anew."""
    rules = (files("monitor.prometheus") / "rules.yml").read_text()
    _, _, groups = rules.partition("\ngroups:\n")
    body = "".join(f"  {line}\n" if line else "\n" for line in f"groups:\n{groups}".splitlines())
    return HEAD + body


if __name__ == "__main__":
    sys.stdout.write(manifest())
