"""The main text beside that of other extractors: F1, precision, recall, and CPU time of a page.

    python -m benchmarks.extraction [--cases FILE] [--rounds 3]

Score: shingles of 4 words of the text found and of the text that people marked, precision and recall averaged over
pages (as in Zyte's article-extraction-benchmark). Time: CPU of this process from decoded HTML to text, parsing
included, the median of several rounds of one page. ``ours`` is shown for two halves of the pages too (every other one),
to see whether rules were made for some pages only. trafilatura is no dependency: it is shown where it is installed.
Writes ``build/bench/extraction.json``.
"""

import argparse
import base64
import gzip
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from benchmarks import report
from streams import charset, maintext, markup

CASES = Path("../shared/cases/zyte_article_extraction.jsonl")
_WORD = re.compile(r"\w+")
_SHINGLE_WORDS = 4

Extractor = Callable[[str], str]


class Article(NamedTuple):
    """A page, and its text as people marked it."""

    html: str
    expected: str


class Score(NamedTuple):
    """Of one page, or of the mean of many."""

    precision: float | None
    """``None`` for a page where nothing was found."""
    recall: float | None


def main() -> None:
    """Run the benchmark."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--cases", type=Path, default=CASES)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    pages = articles(chosen.cases)
    result = {"pages": len(pages), "median_kb": round(statistics.median(len(page.html) for page in pages) / 1000, 1)}
    figures = {name: measure(extractor, pages, chosen.rounds) for name, extractor in extractors().items()}
    written = report.write("extraction", result | {"extractors": figures})
    print(f"{result['pages']} pages, median {result['median_kb']} kB")
    print(f"{'':18}{'F1':>8}{'prec.':>8}{'recall':>8}{'p50 ms':>9}{'p95 ms':>9}{'max ms':>9}   F1 of each half")
    for name, row in figures.items():
        cells = "".join(f"{row[key]:8.4f}" for key in ("f1", "precision", "recall"))
        times = "".join(f"{row[key]:9.2f}" for key in ("p50_ms", "p95_ms", "max_ms"))
        print(f"{name:18}{cells}{times}   {row['f1_even']:.4f} {row['f1_odd']:.4f}")
    print(f"written to {written}")


def articles(path: Path) -> list[Article]:
    """The pages of a file of cases."""
    found = []
    for line in path.read_text().splitlines():
        case = json.loads(line)
        body = gzip.decompress(base64.b64decode(case["input"]["html_gz_b64"]))
        found.append(Article(charset.decode(body, "utf-8", html=True).text, case["expected"]["articleBody"]))
    return found


def extractors() -> dict[str, Extractor]:
    """What is compared."""
    found: dict[str, Extractor] = {"ours": ours, "resiliparse": _resiliparse}
    if find_spec("trafilatura"):
        trafilatura = import_module("trafilatura")
        found["trafilatura"] = lambda html: trafilatura.extract(html, include_comments=False) or ""
        found["trafilatura fast"] = lambda html: trafilatura.extract(html, include_comments=False, fast=True) or ""
    return found


def ours(html: str) -> str:
    """As the cleaner does it."""
    tree = markup.parse(html)
    title = markup.read(tree, "http://bench.test/", "odradek").title
    return maintext.extract(tree, title).text


def _resiliparse(html: str) -> str:
    return str(extract_plain_text(HTMLTree.parse(html), main_content=True, alt_texts=False))


def measure(extractor: Extractor, pages: Sequence[Article], rounds: int) -> dict[str, float]:
    """The figures of one extractor."""
    extractor(pages[0].html)
    scores: list[Score] = []
    times_ms: list[float] = []
    for page in pages:
        taken: list[float] = []
        text = ""
        for _ in range(rounds):
            start_s = time.process_time()
            text = extractor(page.html)
            taken.append((time.process_time() - start_s) * 1_000)
        times_ms.append(statistics.median(taken))
        scores.append(score(text, page.expected))
    precision, recall = mean(scores)
    times_ms.sort()
    return {
        "f1": round(f1(scores), 4),
        "precision": round(precision, 4),
        "recall": round(recall, 4),
        "f1_even": round(f1(scores[::2]), 4),
        "f1_odd": round(f1(scores[1::2]), 4),
        "p50_ms": round(statistics.median(times_ms), 3),
        "p95_ms": round(times_ms[int(len(times_ms) * 0.95)], 3),
        "max_ms": round(times_ms[-1], 3),
    }


def score(found: str, expected: str) -> Score:
    """How well one text was found."""
    ours_, theirs = shingles(found), shingles(expected)
    right = (ours_ & theirs).total()
    return Score(
        right / ours_.total() if ours_ else None,
        right / theirs.total() if theirs else None,
    )


def shingles(text: str) -> Counter[tuple[str, ...]]:
    """Each run of four words, and how often it is there; a shorter text is one run."""
    words = _WORD.findall(text)
    runs = range(max(1, len(words) - _SHINGLE_WORDS + 1)) if words else ()
    return Counter(tuple(words[start : start + _SHINGLE_WORDS]) for start in runs)


def mean(scores: Iterable[Score]) -> tuple[float, float]:
    """Precision and recall over the pages that have one."""
    precisions, recalls = zip(*scores, strict=True)
    known = [[value for value in values if value is not None] or [0.0] for values in (precisions, recalls)]
    return statistics.fmean(known[0]), statistics.fmean(known[1])


def f1(scores: Iterable[Score]) -> float:
    """Of the means, as the benchmark has it."""
    precision, recall = mean(scores)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


if __name__ == "__main__":
    main()
