"""For Prometheus: where to scrape, what to alert on, and how to show it. ``dashboards`` writes those of Grafana.

Try it beside a running crawl, with the address that the crawl prints in place of the one in ``prometheus.yml``::

    prometheus --config.file=monitor/prometheus/prometheus.yml
"""
