"""What must not come in, and what a search for lost leases waits for."""

import pytest
from frontier_scene import Scene

from frontier.admission import admit, check, is_of_host
from infra.errors import NeverValid
from schemas.records import Links, Reason


def links(**fields: object) -> Links:
    """A record of links."""
    about = {"crawl": "c", "host": "h.test", "reason": Reason.LINK, "depth": 1, "urls": ["http://h.test/"]}
    return Links.model_validate(about | fields)


@pytest.mark.parametrize(
    "fields",
    [{"crawl": "a/b"}, {"crawl": ""}, {"urls": ["http://h.test/" + "x" * 900_000]}, {"parent": "x" * 90_000}],
)
def test_what_no_record_could_carry_is_a_dead_letter(fields: dict[str, object]) -> None:
    """Otherwise the request for it would be too large, after every restart again."""
    check(links())
    with pytest.raises(NeverValid):
        check(links(**fields))


@pytest.mark.parametrize(
    "url", ["", "no url", "ftp://h.test/", "http://other.test/", "http://a..b/", "http://h.test:80/"]
)
def test_what_is_no_url_of_its_host_is_refused(url: str) -> None:
    """It would be fetched at another host's pace, or stop the stage; it gets a decision, and the rest is fetched."""
    assert not is_of_host(url, "h.test")
    scene = Scene()
    with scene.step():
        admit(scene.partition, links(urls=[url, "http://h.test/good"]), None, scene.now_s)
    assert [decision.reason for decision in scene.decisions] == ["not_of_host"]
    assert [request.url for request in scene.release()] == ["http://h.test/good"]
