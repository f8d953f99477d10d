"""Per-site rules, from a file to the rows, and what ``odradek try`` tells about them."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from product import ODRADEK, crawl, sql
from site_server import NOT_FOUND, Answer, Site

HOST = "shop.test"
RULES = """
[shop]
hosts = ["*.test"]
urls = "/item/"

[shop.fields]
title = { css = "h2" }
price = { css = ".price", type = "number", required = true }
tags = { xpath = "//i/text()", many = true }
"""


def respond(_host: str, path: str) -> Answer:
    """An index of three items, of which the last has no price."""
    if path == "/":
        return Answer(
            200, "text/html", b"<title>Index</title>" + b"".join(b"<a href=/item/%d>i</a>" % n for n in (1, 2, 3))
        )
    if path.startswith("/item/"):
        number = int(path.rpartition("/")[2])
        price = f"<b class=price>EUR {number}.50</b>" if number < 3 else ""
        return Answer(200, "text/html", f"<title>x</title><h2>Item {number}</h2>{price}<i>a</i><i>b</i>".encode())
    return NOT_FOUND


@pytest.mark.timeout(200)
def test_rules_reach_the_rows_and_are_shown(tmp_path: Path) -> None:
    """Typed fields in ClickHouse with the rules' version, a mark where one is missing; a page of the web is shown."""
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES)
    with Site(respond) as site:
        place = f"http://{HOST}:{site.port}"
        reach = ["--resolve", f"{HOST}=127.0.0.1", "--allow-network", "127.0.0.0/8"]
        environment = {"ODRADEK_STREAMS__RULES": str(rules)}
        with crawl(tmp_path / "data", f"{place}/", *reach, "--delay", "0", environment=environment) as running:
            assert running.wait(150)["pages"] == 4
        told = subprocess.run(
            [*ODRADEK, "try", f"{place}/item/2", "--rules", str(rules), "--json"],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ
            | {
                "ODRADEK_FETCHERS__RESOLVE": json.dumps({HOST: "127.0.0.1"}),
                "ODRADEK_FETCHERS__ALLOW_NETWORKS": '["127.0.0.0/8"]',
            },
        )
        gone = subprocess.run([*ODRADEK, "try", f"{place}/item/2"], capture_output=True, text=True, check=False)
    found = json.loads(told.stdout)
    rows = sql(
        tmp_path / "data",
        "SELECT title, extracted.price.:Float64 AS price, extracted.tags AS tags, flags, rules, "
        "sources['price'] AS source FROM documents ORDER BY url",
    )
    assert [(row["title"], row["price"], row["flags"]) for row in rows] == [
        ("Index", None, []),
        ("Item 1", 1.5, []),
        ("Item 2", 2.5, []),
        ("Item 3", None, ["rule_unmet"]),
    ]
    assert rows[1]["tags"] == ["a", "b"]
    assert {row["rules"] for row in rows} == {found["rules"]}
    assert rows[1]["source"] == found["sources"]["price"] == "rule shop: css .price"
    assert (found["extracted"], found["title"]) == ({"price": 2.5, "tags": ["a", "b"]}, "Item 2")
    assert (found["fetch"]["outcome"], found["fetch"]["status"]) == ("ok", 200)
    assert (gone.returncode, "gives no page" in gone.stderr) == (2, True)
