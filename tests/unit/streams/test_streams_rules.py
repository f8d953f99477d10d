"""Per-site rules: what they find, what they refuse, and where the document says it is from."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream_pages import NOW, page

from infra.errors import UserError
from schemas.records import Document
from streams.clean import finish
from streams.opened import Way, open_page
from streams.rules.compiled import Rules
from streams.rules.model import FieldRule, Transform, Type
from streams.rules.reading import read
from streams.rules.values import Around, step, typed
from streams.sites import Sites

AROUND = Around("http://h.test/dir/", NOW)
SHOP = """
[shop]
hosts = ["h.test"]
urls = "/dir/"

[shop.fields]
title = { css = "h1" }
price = { css = ".price", type = "number", decimal_mark = ",", required = true }
stock = { xpath = "//link[@itemprop='stock']/@href", type = "boolean", transforms = [{ map = { "in" = "yes" } }] }
tags = { css = ".tags a", many = true }
picture = { css = "img", attribute = "src", type = "url" }
"""
PAGE = (
    b"<title>Shop: lamp</title><h1>Lamp <b>blue</b></h1><span class=price>1.234,50 EUR</span>"
    b"<link itemprop=stock href=in><div class=tags><a>x</a> <a> </a><a>y</a></div><img src=/i.png>"
)


def read_by(rules: str, body: bytes) -> Document:
    """What a page becomes under these rules."""
    sites = Sites(Rules(read({"rules.toml": rules})))
    return finish(open_page(page(body)), Way("odradek", obey=True, sites=sites), NOW).document


def value(text: str, **field: object) -> object:
    """What a text becomes in a field."""
    rule = FieldRule.model_validate({"css": "p"} | field)
    found = typed([text], rule, [step(each) for each in rule.transforms], AROUND)
    return found if rule.many else found[0] if found else None


def test_fields_have_types_and_sources() -> None:
    """CSS and XPath, single and many; a field with a column of its own stands there, the others as JSON."""
    document = read_by(SHOP, PAGE)
    assert document.title == "Lamp blue"
    assert json.loads(document.extracted) == {
        "price": 1234.5,
        "stock": True,
        "tags": ["x", "y"],
        "picture": "http://h.test/i.png",
    }
    assert document.sources["price"] == "rule shop: css .price"
    assert document.sources["picture"] == "rule shop: css img @src"
    assert document.sources["title"] == "rule shop: css h1"
    assert (document.flags, document.rules) == ([], Rules(read({"": SHOP})).version)


def test_a_page_without_a_required_field_is_marked() -> None:
    """The field is null and the flag says that the site may have changed; what is not required is left out."""
    document = read_by(SHOP, b"<title>T</title><p>text</p>")
    assert json.loads(document.extracted) == {"price": None}
    assert document.flags == ["rule_unmet"]
    assert document.title == "T"


def test_rules_of_other_pages_are_not_asked() -> None:
    """Neither by URL nor by host; the version stands in the document all the same."""
    for other in ('hosts = ["other.test"]', 'hosts = ["h.test"]\nurls = "^https:"'):
        document = read_by(f"[a]\n{other}\nfields = {{ x = {{ css = 'h1', required = true }} }}", PAGE)
        assert (document.extracted, document.flags, document.sources.get("x")) == ("{}", [], None)
        assert document.rules is not None


def test_the_first_rule_that_finds_a_field_gives_it() -> None:
    """In the order of the file, whatever the order of the hosts."""
    rules = """
[one]
hosts = ["*"]
fields = { x = { css = ".none" }, y = { css = "h1" } }
[two]
hosts = ["h.test"]
fields = { x = { css = "h1" }, y = { css = ".price" } }
"""
    assert json.loads(read_by(rules, PAGE).extracted) == {"y": "Lamp blue", "x": "Lamp blue"}


def test_the_text_may_be_a_rules() -> None:
    """Then words, hash and language are of that text, line by line."""
    rules = '[a]\nhosts = ["*.test"]\nfields = { text = { css = "div" } }'
    document = read_by(rules, b"<p>around</p><div><p>one two</p><p>three</p></div>")
    assert (document.text, document.words) == ("one two\nthree", 3)
    assert document.sources["text"] == "rule a: css div"


def test_hosts_match_by_their_parts() -> None:
    """A name is itself; with ``*.`` the domain and all below; ports and addresses are no parts."""
    rules = Rules(
        read({"": "".join(f"[r{n}]\nhosts = ['{host}']\nfields.x.css = 'p'\n" for n, host in enumerate(
            ("shop.example", "*.shop.example", "*", "*.example", "[::1]"))
        )})
    )  # fmt: skip
    found = {
        host: [rule.order for rule in rules.for_page(host, f"http://{host}/")]
        for host in ("shop.example", "a.shop.example:81", "ashop.example", "[::1]:80")
    }
    assert found == {
        "shop.example": [0, 1, 2, 3],
        "a.shop.example:81": [1, 2, 3],
        "ashop.example": [2, 3],
        "[::1]:80": [2, 4],
    }


@pytest.mark.parametrize(
    ("text", "field", "meant"),
    [
        (" a \n b ", {}, "a b"),
        ("a\0\ud800b", {}, "a\ufffdb"),
        (" a \n b ", {"type": "lines"}, "a \n b"),
        ("EUR 1,234.50", {"type": "number"}, 1234.5),
        ("1.234,50", {"type": "number", "decimal_mark": ","}, 1234.5),
        ("\u22125", {"type": "integer"}, -5),
        ("12 of 30", {"type": "integer"}, None),
        ("1.5", {"type": "integer"}, None),
        ("9" * 400, {"type": "number"}, None),
        ("9223372036854775808", {"type": "integer"}, None),
        ("Yes", {"type": "boolean"}, True),
        ("maybe", {"type": "boolean"}, None),
        ("2026-11-30", {"type": "date"}, "2026-11-30"),
        ("2027-01-01", {"type": "date"}, None),
        ("30.11.2026", {"type": "date", "format": "%d.%m.%Y"}, "2026-11-30"),
        ("30.11.2026 13:05", {"type": "date", "format": "%d.%m.%Y %H:%M"}, "2026-11-30T13:05:00"),
        ("31.11.2026", {"type": "date", "format": "%d.%m.%Y"}, None),
        ("../x?a#f", {"type": "url"}, "http://h.test/x?a"),
        ("ftp://x/", {"type": "url"}, None),
        ("SKU: 77 (blue)", {"transforms": [{"regex": r"SKU: (\d+)"}]}, "77"),
        ("none", {"transforms": [{"regex": r"\d+"}]}, None),
        ("a-b", {"transforms": [{"replace": ["-", "+"]}, {"prefix": ">"}]}, ">a+b"),
        ("k: v; w", {"transforms": [{"after": ":"}, {"before": ";"}]}, "v"),
        ("k", {"transforms": [{"after": ":"}]}, None),
        ("a, b ,", {"many": True, "transforms": [{"split": ","}]}, ["a", "b"]),
        ("In Stock", {"transforms": [{"map": {"in stock": "yes"}}], "type": "boolean"}, True),
    ],
)
def test_a_text_becomes_a_value_or_none(text: str, field: dict[str, object], meant: object) -> None:
    """Typed by the field; what is no value of the type is missing, never guessed."""
    assert value(text, **field) == meant


@given(st.text(), st.sampled_from(Type), st.sampled_from([".", ","]))
def test_no_text_is_too_strange(text: str, kind: Type, mark: str) -> None:
    """Whatever the text and the type, a value or none."""
    found = value(text, type=kind, decimal_mark=mark)
    assert found is None or isinstance(found, str | int | float)
    json.dumps(found, allow_nan=False, ensure_ascii=False).encode()


@given(st.binary(max_size=400))
def test_no_page_is_too_strange(body: bytes) -> None:
    """Whatever the page, CSS and XPath find something or nothing."""
    rules = """
[a]
hosts = ["*"]
[a.fields]
x = { css = "*", many = true }
y = { xpath = "//text() | //@*", many = true, type = "lines" }
z = { xpath = "count(//*)", type = "integer" }
"""
    document = read_by(rules, b"<html>" + body)
    assert json.loads(document.extracted)["z"] > 0


def test_css_and_xpath_see_the_same_elements() -> None:
    """Those of a browser's tree: what the page left out is there, as deep as it goes."""
    rules = """
[a]
hosts = ["*"]
[a.fields]
x = { css = "table > tbody td" }
y = { xpath = "//table/tbody//td" }
deep = { xpath = "//b[last()]" }
"""
    document = read_by(rules, b"<table><tr><td>1</table>" + b"<div>" * 400 + b"<b>deep")
    assert json.loads(document.extracted) == {"x": "1", "y": "1", "deep": "deep"}


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("[a]\nhosts = 1", "line 2: a.hosts: Input should be a valid tuple"),
        ("[a]\nhosts = ['h.test']\n", "line 1: a.fields: Field required"),
        ("[a]\nhosts = ['http://h.test/']\n[a.fields.x]\ncss = 'p'", "neither a host (shop.example)"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss = 'p['", "line 4: a.fields.x.css: 'p[' is no CSS selector"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\nxpath = '//p['", "line 4: a.fields.x.xpath: '//p[' is no XPath"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\nxpath = 'no(//p)'", "no(//p)' is no XPath"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\nxpath = '//p'", "either css or xpath"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\ntype='money'", "line 5: a.fields.x.type: Input should be 'text'"),
        ("[a]\nhosts = ['h']\n[a.fields.X]\ncss='p'", "a.fields.X: String should match pattern"),
        ("[a]\nhosts = ['h']\n[a.fields.url]\ncss='p'", "the document has a column of this name"),
        ("[a]\nhosts = ['h']\n[a.fields.title]\ncss='p'\nmany=true", "fields.title is one text"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\ntransforms=[{regex='('}]", "is no regular expression"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\ntransforms=[{after='a', before='b'}]", "exactly one of"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\nformat='%d'", "format is for type = 'date'"),
        ("[a]\nhosts = ['h']\n[a.fields.x]\ncss='p'\ntype='date'\nformat='%d'", "needs year, month and day"),
        ("[a]\nhosts = ['h']\nurls = '('\nfields.x.css = 'p'", "line 3: a.urls: '(' is no regular expression"),
        ("[a\n", "no TOML: Expected ']'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(rules: str, told: str) -> None:
    """File, line, place and what it should be; nothing of the rules is taken."""
    with pytest.raises(UserError, match=r"f\.toml: ") as caught:
        read({"f.toml": rules})
    assert told in str(caught.value)


def test_every_mistake_is_told_at_once() -> None:
    """In all files together, and a name that is there twice."""
    good = "[a]\nhosts = ['h']\nfields.x.css = 'p'"
    with pytest.raises(UserError) as caught:
        read({"a.toml": good, "b.toml": good, "c.toml": good.replace("[a]", "[c]").replace("'p'", "'p['")})
    assert "b.toml: line 1: there is a rule 'a' already" in str(caught.value)
    assert "c.toml: line 3: c.fields.x.css" in str(caught.value)


def test_the_version_is_that_of_the_meaning() -> None:
    """Comments and spaces do not count; anything else does, also the order."""
    one = read({"a": "[a]\nhosts = ['h']\nfields.x.css = 'p'\n[b]\nhosts = ['h']\nfields.x.css = 'p'"})
    same = read({"b": "# hello\n[a]\nhosts = [ 'h' ]\n[a.fields.x]\ncss = 'p'\n[b]\nhosts = ['h']\nfields.x.css = 'p'"})
    other = read({"a": "[b]\nhosts = ['h']\nfields.x.css = 'p'\n[a]\nhosts = ['h']\nfields.x.css = 'p'"})
    assert one.version == same.version
    assert one.version not in (other.version, None)
    assert read({}).version is None


def test_a_transform_says_one_thing() -> None:
    """None at all is a mistake too."""
    with pytest.raises(ValueError, match="exactly one"):
        Transform()


def test_the_rules_in_the_documentation_are_rules() -> None:
    """The example can be copied."""
    text = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
    found = read({"docs": text.split("```toml")[1].split("```")[0]})
    assert list(found.rules["shop"].fields)[:2] == ["title", "price"]
