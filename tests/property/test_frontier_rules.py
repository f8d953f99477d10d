"""The frontier's promises under any order of links, results, crashes and lost disks."""

import tempfile
from collections import defaultdict
from pathlib import Path

from frontier_scene import Scene
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from frontier.admission import admit
from frontier.memory import Memory
from frontier.outbox import unpack
from frontier.rebuild import rebuild
from frontier.results import expire
from frontier.store import Store
from infra.kafka.topics import TopicName
from schemas.outcomes import Outcome
from schemas.records import Kind, Links, Reason, Request
from schemas.url import split

HOSTS = ("a.test", "b.test")
CRAWLS = ("plain", "polite", "again")
REVISIT = {"first": 60.0, "shortest": 20.0, "longest": 300.0, "misses": 2}
PAGE_OUTCOMES = [
    *(
        Outcome.OK,
        Outcome.OK,
        Outcome.NOT_MODIFIED,
        Outcome.REDIRECT,
        Outcome.CLIENT_ERROR,
        Outcome.SERVER_ERROR,
        Outcome.RATE_LIMITED,
    ),
    *(Outcome.TIMEOUT, Outcome.DNS_ERROR, Outcome.SKIPPED, Outcome.BLOCKED_ADDRESS, Outcome.DISCONNECT),
]
ROBOTS_BODIES = [
    b"",
    b"User-agent: *\nDisallow: /1\n",
    b"User-agent: *\nCrawl-delay: 3\n",
    b"User-agent: *\nDisallow: /\n",
]


class FrontierMachine(RuleBasedStateMachine):
    """One partition, and a model of what the world has seen of it."""

    @initialize()
    def begin(self) -> None:
        """An empty file."""
        self.directory = tempfile.TemporaryDirectory()
        self.files = 0
        self.scene = Scene(self.next_file(), revisit=REVISIT)
        self.scene.define("polite", follow_robots=True)
        self.scene.define("again", revisit=True)
        self.admitted: set[tuple[str, str]] = set()
        self.out: dict[str, Request] = {}
        self.old: list[Request] = []
        self.seen_s: dict[str, float] = defaultdict(float)
        self.checked = 0

    def teardown(self) -> None:
        """Leave no file."""
        if hasattr(self, "directory"):
            self.scene.memory.store.close()
            self.directory.cleanup()

    def next_file(self) -> Path:
        """A file that is not there yet."""
        self.files += 1
        return Path(self.directory.name) / f"{self.files}.sqlite"

    def look(self) -> None:
        """Check every request that has come out since the last look."""
        for request in self.scene.requests[self.checked :]:
            busy = {each.host for each in self.out.values()}
            assert request.host not in busy, "two requests to one host"
            assert request.lease not in self.out, "one permission given twice"
            rest_s = self.scene.now_s - self.seen_s[request.host]
            assert rest_s >= request.delay_ms / 1000 - 1e-6, "faster than allowed"
            self.out[request.lease] = request
        self.checked = len(self.scene.requests)

    @rule(crawl=st.sampled_from(CRAWLS), host=st.sampled_from(HOSTS), paths=st.lists(st.integers(0, 6), min_size=1))
    def admit(self, crawl: str, host: str, paths: list[int]) -> None:
        """Links of one host arrive."""
        urls = [f"http://{host}/{path}" for path in paths]
        self.scene.admit(*urls, crawl=crawl)
        self.admitted |= {(crawl, url) for url in urls}

    @rule(host=st.sampled_from(HOSTS), paths=st.lists(st.integers(0, 6), min_size=1), ago_s=st.integers(-9, 9))
    def admit_modified(self, host: str, paths: list[int], ago_s: int) -> None:
        """A sitemap names URLs, some of them known, as modified lately."""
        urls = [f"http://{host}/{path}" for path in paths]
        modified = [int(self.scene.now_s) - ago_s] * len(urls)
        about = {"crawl": "again", "host": host, "depth": 1, "urls": urls, "modified": modified}
        self.scene.take(Links.model_validate(about | {"reason": Reason.SITEMAP}))
        self.admitted |= {("again", url) for url in urls}

    @rule(after_s=st.sampled_from([0.0, 0.3, 1.0, 5.0, 400.0]))
    def release(self, after_s: float) -> None:
        """Time passes; what is due is released."""
        self.scene.release(after_s)
        self.look()

    @precondition(lambda self: self.out)
    @rule(
        choice=st.integers(0, 9),
        outcome=st.sampled_from(PAGE_OUTCOMES),
        body=st.sampled_from(ROBOTS_BODIES),
        since_ms=st.sampled_from([None, 0.0, 200.0]),
        body_hash=st.sampled_from([None, b"one", b"two"]),
    )
    def settle(
        self, choice: int, outcome: Outcome, body: bytes, since_ms: float | None, body_hash: bytes | None
    ) -> None:
        """A request that is out gets its result; the host saw it ``since_ms`` ago at the latest."""
        request = self.out.pop(sorted(self.out)[choice % len(self.out)])
        fields: dict[str, object] = {"total_ms": 500.0, "body_hash": body_hash}
        if since_ms is not None:
            fields["first_byte_ms"] = 500.0 - since_ms
        if outcome is Outcome.REDIRECT:
            fields["redirect_to"] = "http://elsewhere.test/"
        if request.kind is Kind.ROBOTS:
            fields["body"] = body
        seen_s = self.scene.now_s - (since_ms or 0.0) / 1000
        self.seen_s[request.host] = max(self.seen_s[request.host], seen_s)
        self.scene.settle(request, outcome, **fields)
        self.old.append(request)
        self.look()

    @precondition(lambda self: self.old)
    @rule(choice=st.integers(0, 99))
    def repeat_a_result(self, choice: int) -> None:
        """A result arrives a second time."""
        self.scene.settle(self.old[choice % len(self.old)])
        self.look()

    def restart(self, store: Store, after_s: float) -> None:
        """Somebody takes the state up; hosts rest for one delay."""
        self.scene.now_s += after_s
        self.scene.open(store)
        for host in HOSTS:
            self.seen_s[host] = self.scene.now_s
        for number, packed in store.owed():
            self.scene.publish(unpack(packed))
            store.begin()
            store.paid(number)
            store.commit()
        self.look()

    @rule(after_s=st.sampled_from([0.0, 0.2, 30.0, -50.0]))
    def crash(self, after_s: float) -> None:
        """The process dies in the middle of a transaction; the clock may have been set back meanwhile."""
        store = self.scene.memory.store
        store.begin()
        urls = ["http://a.test/never"]
        links = Links(crawl="plain", host="a.test", reason=Reason.LINK, depth=0, urls=urls)
        admit(self.scene.partition, links, None, self.scene.now_s)
        store.close()
        self.restart(Store(self.scene.path), after_s)

    @rule(path=st.integers(10, 12))
    def crash_before_publishing(self, path: int) -> None:
        """The process dies after a commit, before anything of it was published."""
        store = self.scene.memory.store
        url = f"http://b.test/{path}"
        links = Links(crawl="plain", host="b.test", reason=Reason.LINK, depth=0, urls=[url])
        store.begin()
        admit(self.scene.partition, links, None, self.scene.now_s)
        self.scene.memory.settle("test")
        store.commit()
        self.admitted.add(("plain", url))
        store.close()
        self.restart(Store(self.scene.path), 0.1)

    @precondition(lambda self: self.out)
    @rule()
    def lose_every_request(self) -> None:
        """The fetchers have passed what is out, and no result ever came; a late one may come yet."""
        self.scene.now_s += 400.0
        with self.scene.step():
            assert expire(self.scene.partition, TopicName.URLS, self.scene.now_s, self.scene.now_s) == len(self.out)
        for request in self.out.values():
            self.seen_s[request.host] = self.scene.now_s
        self.old += self.out.values()
        self.out.clear()
        self.look()

    @rule(compacted=st.booleans(), repeated=st.integers(0, 20), at_once=st.booleans())
    def lose_the_disk(self, compacted: bool, repeated: int, at_once: bool) -> None:
        """The file is gone; the changelog, compacted or not, some of it sent twice, gives the state back.

        So it does by a sort of all changes at once, and change by change, as a file that is behind catches up.
        """
        changes = self.scene.changes
        changes = changes + changes[len(changes) - repeated :] if repeated < len(changes) else changes * 2
        figures = {name: count for name, count in self.scene.memory.counts.items() if count}
        if compacted:
            changes = list({key: (key, value) for key, value in changes}.values())
        self.scene.memory.store.close()
        self.scene.path = self.next_file()
        if at_once:
            assert rebuild(self.scene.path, 0, [changes[:3], changes[3:]]) == len(changes)
        store = Store(self.scene.path)
        memory = Memory(store, 0)
        store.begin()
        if not at_once:
            for key, value in changes:
                memory.apply(key, value)
            memory.forget()
        store.set_meta("used", 1)
        store.commit()
        assert {name: count for name, count in memory.counts.items() if count} == figures
        self.restart(store, 0.1)

    @invariant()
    def nothing_is_lost_or_doubled(self) -> None:
        """Every URL waits, is out, or has ended, and the figures say what the store holds."""
        if not hasattr(self, "scene"):
            return
        stored = self.scene.stored()
        totals = {
            name: sum(self.scene.count(name, crawl) for crawl in CRAWLS)
            for name in ("queued", "leased", "pages", "errors", "refused", "moved", "revisits", "again")
        }
        revisits, again = totals.pop("revisits"), totals.pop("again")
        assert (totals["queued"] + revisits, totals["leased"]) == (stored["queued"], stored["leased"])
        # What waits to be visited again is a page already, and is one still while it is.
        assert sum(totals.values()) - again == len(self.admitted)
        assert revisits + again <= totals["pages"]
        pages_out = sum(1 for request in self.out.values() if request.kind is Kind.PAGE)
        assert stored["leased"] == pages_out

    @invariant()
    def every_host_with_work_is_scheduled_or_out(self) -> None:
        """No URL waits for ever: given time and answers, everything ends."""
        if not hasattr(self, "scene"):
            return
        waiting = {host for host, *_, count in self.scene.memory.store.waiting() if count}
        busy = {request.host for request in self.out.values()}
        assert not waiting - busy or self.scene.partition.next_s() is not None
        assert all(split(url).host in HOSTS for _, url in self.admitted)


FrontierMachine.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestFrontier = FrontierMachine.TestCase
