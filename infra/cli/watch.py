"""The live view of a crawl, until it is finished or interrupted."""

import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from infra.errors import RetryLater
from infra.kafka.heartbeats import Heartbeats
from infra.kafka.lag import SINK_GROUP, LagReader, groups
from infra.progress import Completion, Figures, Phase, figures
from infra.settings import Settings

LOOK_EVERY = timedelta(milliseconds=500)
LINE_EVERY = timedelta(seconds=5)
MONITOR_ENDPOINT = "monitor.endpoint"
_RATE_WINDOW = 20


@dataclass
class Outcome:
    """How a crawl ended."""

    crawl: str
    settings: Settings
    finished: bool = False
    figures: Figures | None = None
    elapsed: timedelta = timedelta(0)
    restarted: list[str] = field(default_factory=list)
    unclean: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, object]:
        """For scripts."""
        numbers = self.figures
        return {
            "crawl": self.crawl,
            "finished": self.finished,
            "seconds": round(self.elapsed.total_seconds(), 3),
            "pages": numbers.pages if numbers else 0,
            "errors": numbers.errors if numbers else 0,
            "refused": numbers.refused if numbers else 0,
            "queued": numbers.queued if numbers else 0,
            "rows": numbers.rows if numbers else 0,
            "stages_restarted": self.restarted,
            "stages_not_drained": self.unclean,
        }

    def as_text(self) -> str:
        """The summary, with commands that show the result."""
        numbers = self.figures
        pages, errors, refused, queued = (
            (numbers.pages, numbers.errors, numbers.refused, numbers.queued) if numbers else (0, 0, 0, 0)
        )
        seconds = max(self.elapsed.total_seconds(), 0.001)
        head = "finished" if self.finished else "interrupted"
        lines = [
            f"crawl {self.crawl} {head}: {pages:,} pages, {errors:,} errors, {refused:,} URLs refused"
            f" in {seconds:.1f} s ({pages / seconds:.1f} pages/s)"
        ]
        if not self.finished:
            lines.append(f"{queued:,} URLs wait; go on with: odradek crawl --name {self.crawl} URL")
        lines += [f"stage {stage} ended by itself and was started again" for stage in self.restarted]
        logs = self.settings.data_dir / "logs"
        lines += [f"stage {stage} did not drain; see its log in {logs}" for stage in self.unclean]
        # The name of a crawl has no quote in it (schemas.records), and it is the user who runs the command.
        where = f"WHERE crawl = '{self.crawl}'"
        queries = [f"SELECT host, count() AS pages FROM documents {where} GROUP BY host ORDER BY pages DESC"]  # noqa: S608
        if errors:
            queries.append(f"SELECT outcome, status, count() FROM fetches {where} GROUP BY outcome, status")  # noqa: S608
        if refused:
            queries.append(f"SELECT reason, count(), any(url) FROM decisions {where} GROUP BY reason")  # noqa: S608
        return "\n".join([*lines, "", "Ask what was found:", *(f"  {self._sql(query)}" for query in queries)])

    def _sql(self, query: str) -> str:
        default = type(self.settings).model_fields["data_dir"].default
        option = "" if self.settings.data_dir == default else f" --data-dir {self.settings.data_dir}"
        return f'odradek sql{option} "{query}"'


def watch(settings: Settings, crawl: str, started_s: float, check: Callable[[], list[str]]) -> Outcome:
    """Show progress until the crawl is finished or Ctrl-C; ``check`` looks after the stages at each look."""
    outcome = Outcome(crawl, settings)
    view = _View(crawl)
    heartbeats, lag = Heartbeats(settings), LagReader(settings)
    completion = Completion(crawl, [group for group in groups(settings) if group.startswith(SINK_GROUP)])
    try:
        with view:
            while not outcome.finished:
                outcome.restarted += check()
                view.tell_page(settings.data_dir / MONITOR_ENDPOINT)
                beats = heartbeats.read(LOOK_EVERY)
                try:
                    offsets = lag.read()
                except RetryLater as error:
                    view.say(str(error))
                    continue
                outcome.figures = figures(crawl, beats, offsets)
                outcome.elapsed = timedelta(seconds=time.monotonic() - started_s)
                outcome.finished = completion.observe(beats, offsets)
                view.show(outcome.figures, outcome.elapsed, completion.phase)
                time.sleep(LOOK_EVERY.total_seconds())
    except KeyboardInterrupt:
        view.say("stopping: the stages finish what they hold")
    finally:
        heartbeats.close()
    return outcome


class _View:
    """A live table on a terminal, a line every few seconds elsewhere; both on standard error."""

    def __init__(self, crawl: str) -> None:
        self._crawl = crawl
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self._history: deque[tuple[float, int]] = deque(maxlen=_RATE_WINDOW)
        self._next_line_s = 0.0
        self._page_told = False

    def __enter__(self) -> "_View":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._live:
            self._live.stop()

    def say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def tell_page(self, endpoint: Path) -> None:
        """Say once where the monitor's page is. The address holds the token that lets its reader steer the crawl."""
        if not self._page_told and endpoint.is_file():
            self._page_told = True
            self.say(f"watch and steer it at {endpoint.read_text().strip()}")

    def show(self, now: Figures, elapsed: timedelta, phase: Phase) -> None:
        seconds = elapsed.total_seconds()
        self._history.append((seconds, now.pages))
        (then_s, then_pages), (now_s, now_pages) = self._history[0], self._history[-1]
        rate = (now_pages - then_pages) / (now_s - then_s) if now_s > then_s else 0.0
        if self._live:
            self._live.update(self._table(now, rate, seconds, phase), refresh=True)
        elif seconds >= self._next_line_s:
            self._next_line_s = seconds + LINE_EVERY.total_seconds()
            self.say(
                f"{seconds:6.1f} s  pages {now.pages:,} ({rate:.1f}/s)  queued {now.queued:,}  hosts {now.hosts:,}  "
                f"errors {now.errors:,}  lag {sum(now.lag.values()):,}"
            )

    def _table(self, now: Figures, rate: float, seconds: float, phase: Phase) -> Table:
        table = Table(title=f"crawl {self._crawl}", box=None, header_style="bold", title_justify="left")
        for column in ("pages", "pages/s", "queued", "in flight", "hosts", "errors", "lag", "seconds", "phase"):
            table.add_column(column, justify="right")
        table.add_row(
            f"{now.pages:,}",
            f"{rate:.1f}",
            f"{now.queued:,}",
            f"{now.leased:,}",
            f"{now.hosts:,}",
            f"{now.errors:,}",
            f"{sum(now.lag.values()):,}",
            f"{seconds:.1f}",
            "crawling" if phase is Phase.FRONTIER_EMPTY else "finishing",
        )
        return table
