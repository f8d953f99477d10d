"""What the dashboards show: one for each dimension, and an overview of all. Data alone; ``dashboards`` draws it."""

from typing import Literal, NamedTuple

Unit = Literal["short", "ops", "s", "bytes", "Bps", "percentunit", "cps"]
"""Grafana's names of units."""

ERRORS = 'outcome!~"ok|not_modified|redirect|bad_redirect|client_error|blocked_address|skipped"'
"""Fetches that failed: every outcome that is no answer and no decision of ours."""


class Panel(NamedTuple):
    """One graph. ``series`` are expressions of PromQL and what the legend says of each."""

    title: str
    unit: Unit
    series: tuple[tuple[str, str], ...]
    about: str = ""


class Dashboard(NamedTuple):
    """One page of Grafana."""

    uid: str
    title: str
    about: str
    panels: tuple[Panel, ...]


def _quantiles(histogram: str, by: str = "") -> tuple[tuple[str, str], ...]:
    grouped = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return tuple(
        (
            f"histogram_quantile({share}, sum by ({grouped}) (rate({histogram}_bucket[$__rate_interval])))",
            f"{name}{legend}",
        )
        for share, name in ((0.5, "median"), (0.95, "95 %"))
    )


PAGES = Panel(
    "Pages a second",
    "ops",
    (
        ('sum(rate(odradek_fetches_total{outcome="ok"}[$__rate_interval]))', "fetched"),
        ("sum(rate(odradek_pages_cleaned_total[$__rate_interval]))", "cleaned"),
        ('sum(rate(odradek_sink_rows_total{table="documents"}[$__rate_interval]))', "rows"),
    ),
    "Apart for long, what lies between them does not keep up.",
)
FAILURES = Panel(
    "Share of fetches that fail",
    "percentunit",
    (
        (
            f"sum(rate(odradek_fetches_total{{{ERRORS}}}[$__rate_interval]))"
            " / sum(rate(odradek_fetches_total[$__rate_interval]))",
            "failing",
        ),
    ),
    "HighErrorRate fires above 5 %.",
)
LAG = Panel("Records behind", "short", (("sum by (group, topic) (odradek_group_lag_records)", "{{group}} {{topic}}"),))
WAITING = Panel(
    "URLs",
    "short",
    (("odradek_frontier_queued_urls", "wait"), ("odradek_frontier_leased_requests", "are out")),
)
WORKERS = Panel("Workers", "short", (("sum by (stage, state) (odradek_workers)", "{{stage}} {{state}}"),))
FINDINGS = Panel("What the monitor finds wrong", "short", (("odradek_findings", "{{kind}}"),))
FRESHNESS = Panel(
    "From the fetch to the row", "s", (("max by (quantile) (odradek_fetch_to_row_seconds)", "{{quantile}}"),)
)
AVAILABILITY = Panel(
    "Availability",
    "percentunit",
    (
        ("avg_over_time(odradek_pipeline_available[1h])", "last hour"),
        ("avg_over_time(odradek_pipeline_available[1d])", "last day"),
    ),
    "Every stage has a living worker that takes work; 99.95 % is promised.",
)
CLEANING = Panel("Cleaning a page", "s", _quantiles("odradek_clean_seconds"), "95 % within 0.2 s are promised.")
LATENCY = Panel("Latency of a fetch", "s", _quantiles("odradek_fetch_seconds"))

DASHBOARDS = (
    Dashboard(
        "odradek-overview",
        "Odradek: overview",
        "Is it working, and if not, where to look.",
        (PAGES, FAILURES, LAG, WAITING, LATENCY, FRESHNESS, WORKERS, FINDINGS),
    ),
    Dashboard(
        "odradek-infrastructure",
        "Odradek: infrastructure",
        "The machines and processes it runs on.",
        (
            Panel(
                "CPU",
                "short",
                (("sum by (job) (rate(process_cpu_seconds_total[$__rate_interval]))", "{{job}}"),),
                "Cores.",
            ),
            Panel("Memory", "bytes", (("sum by (job) (process_resident_memory_bytes)", "{{job}}"),)),
            Panel("Open files", "short", (("max by (job) (process_open_fds)", "{{job}}"),)),
            Panel("Free on disk", "percentunit", (("odradek_disk_free_ratio", "{{what}}"),)),
            Panel("Received", "Bps", (("sum(rate(odradek_fetched_bytes_total[$__rate_interval]))", "bodies"),)),
            Panel(
                "Connections opened",
                "cps",
                (("sum by (tier) (rate(odradek_connections_opened_total[$__rate_interval]))", "{{tier}}"),),
            ),
            Panel("Records in topics", "short", (("odradek_topic_records", "{{topic}}"),)),
            Panel(
                "Garbage collections",
                "cps",
                (("sum by (job) (rate(python_gc_collections_total[$__rate_interval]))", "{{job}}"),),
            ),
        ),
    ),
    Dashboard(
        "odradek-service",
        "Odradek: service",
        "How well its parts work.",
        (
            LAG,
            Panel("Members of groups", "short", (("odradek_group_members", "{{group}}"),)),
            WORKERS,
            Panel("Ready", "short", (("min by (job) (odradek_ready)", "{{job}}"),)),
            FAILURES,
            Panel(
                "Retries",
                "cps",
                (
                    ("sum by (stage) (rate(odradek_retries_total[$__rate_interval]))", "{{stage}}"),
                    (
                        "sum by (store) (rate(odradek_store_unreachable_total[$__rate_interval]))",
                        "{{store}} unreachable",
                    ),
                ),
                "Something outside is in trouble: a store, or Kafka.",
            ),
            Panel(
                "Dead letters",
                "short",
                (("sum by (stage, reason) (odradek_dead_letters_total)", "{{stage}} {{reason}}"),),
            ),
            Panel("Opening a connection", "s", _quantiles("odradek_connection_seconds", "step")),
            Panel("Writing a block of rows", "s", _quantiles("odradek_sink_write_seconds", "table")),
            Panel(
                "Hosts given up",
                "cps",
                (("sum by (reason) (rate(odradek_hosts_given_up_total[$__rate_interval]))", "{{reason}}"),),
            ),
            Panel(
                "Repeats and losses of requests",
                "cps",
                (
                    ("sum(rate(odradek_leases_lost_total[$__rate_interval]))", "lost, released again"),
                    ("sum(rate(odradek_results_ignored_total[$__rate_interval]))", "results of leases that were over"),
                ),
            ),
            Panel(
                "Proxies",
                "cps",
                (
                    (
                        "sum by (rests) (rate(odradek_proxy_failures_total[$__rate_interval]))",
                        "failures, rests: {{rests}}",
                    ),
                    ("sum(rate(odradek_proxy_bypassed_total[$__rate_interval]))", "bypassed"),
                ),
            ),
        ),
    ),
    Dashboard(
        "odradek-business",
        "Odradek: business",
        "What it produces.",
        (
            PAGES,
            WAITING,
            Panel(
                "Fetches by outcome",
                "ops",
                (("sum by (outcome) (rate(odradek_fetches_total[$__rate_interval]))", "{{outcome}}"),),
            ),
            Panel(
                "Links",
                "ops",
                (("sum by (known) (rate(odradek_links_total[$__rate_interval]))", "seen before: {{known}}"),),
            ),
            Panel(
                "URLs refused",
                "ops",
                (("sum by (reason) (rate(odradek_urls_refused_total[$__rate_interval]))", "{{reason}}"),),
            ),
            Panel(
                "Links of pages",
                "ops",
                (("sum by (fate) (rate(odradek_outlinks_total[$__rate_interval]))", "{{fate}}"),),
            ),
            Panel("Rows", "ops", (("sum by (table) (rate(odradek_sink_rows_total[$__rate_interval]))", "{{table}}"),)),
            Panel("Length of texts", "short", _quantiles("odradek_document_text_characters"), "Characters."),
            Panel(
                "Bodies that were cut",
                "cps",
                (("sum by (why) (rate(odradek_cut_bodies_total[$__rate_interval]))", "{{why}}"),),
            ),
            Panel("Seeds", "cps", (("sum(rate(odradek_seeds_total[$__rate_interval]))", "accepted"),)),
        ),
    ),
    Dashboard(
        "odradek-user-experience",
        "Odradek: user experience",
        "What those notice who wait for the result.",
        (AVAILABILITY, FRESHNESS, LATENCY, CLEANING, FINDINGS),
    ),
)
