"""What browsers read, the fetchers read; what browsers refuse, they refuse; however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fetchers.answers import LEAVE_UNREAD, Answer
from fetchers.faults import BrokenProtocol, Disconnected
from fetchers.heads import Head
from schemas.records import Cut

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 3\r\n\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read(*pieces: bytes, limit: int = 1_000, closed: bool = True, broke: Exception | None = None) -> Answer:
    """The answer that these bytes are."""
    answer = Answer(lambda _head: limit, 1_024)
    for piece in pieces:
        answer.feed(piece)
    if closed:
        answer.end(broke)
    return answer


WHOLE = {
    "plain": OK + LENGTH + b"abc",
    "bare line feeds": b"HTTP/1.1 200 OK\nContent-Length: 3\n\nabc",
    "mixed line ends": b"HTTP/1.1 200 OK\r\nA: 1\nContent-Length: 3\n\r\nabc",
    "doubled carriage returns": b"HTTP/1.1 200 OK\r\r\nContent-Length: 3\r\r\n\r\nabc",
    "no reason": b"HTTP/1.1 200\r\n" + LENGTH + b"abc",
    "no reason, but its space": b"HTTP/1.1 200 \r\n" + LENGTH + b"abc",
    "no status": b"HTTP/1.1 OK\r\n" + LENGTH + b"abc",
    "no version": b"HTTP 200 OK\r\n" + LENGTH + b"abc",
    "lower case": b"http/1.1 200 ok\r\n" + LENGTH + b"abc",
    "reason at the number": b"HTTP/1.1 200OK\r\n" + LENGTH + b"abc",
    "wide spaces": b"HTTP/1.1   200   OK\r\n" + LENGTH + b"abc",
    "another version": b"HTTP/2.0 200 OK\r\n" + LENGTH + b"abc",
    "radio": b"ICY 200 OK\r\n" + LENGTH + b"abc",
    "blank lines before": b"\r\n\n\r\n" + OK + LENGTH + b"abc",
    "rubbish before": b"}\r\n " + OK + LENGTH + b"abc",
    "reason of any bytes": b"HTTP/1.1 200 Tr\xe8s\xffbien\r\n" + LENGTH + b"abc",
    "line without colon": OK + b"BadLine\r\n" + LENGTH + b"abc",
    "empty name": OK + b": x\r\n" + LENGTH + b"abc",
    "name of no token": OK + b"A B: x\r\n<p>: y\r\n" + LENGTH + b"abc",
    "space before colon": OK + b"Content-Length : 3\r\n\r\nabc",
    "first line folded": OK + b" x: y\r\n" + LENGTH + b"abc",
    "folded": OK + b"A: 1\r\n\t2\r\n 3\r\n" + LENGTH + b"abc",
    "control bytes": OK + b"A: a\x00b\x01c\x7f\r\n" + LENGTH + b"abc",
    "bytes beyond ASCII": OK + b"A: caf\xe9 \xc3\xa9 \xff\r\n" + LENGTH + b"abc",
    "name beyond ASCII": OK + b"\xe9: x\r\n" + LENGTH + b"abc",
    "tabs around a value": OK + b"Content-Length:\t3\t\r\n\r\nabc",
    "no space after colon": OK + b"Content-Length:3\r\n\r\nabc",
    "empty length": OK + b"Content-Length:\r\n\r\nabc",
    "equal lengths": OK + b"Content-Length: 3\r\n" + LENGTH + b"abc",
    "a list of equal lengths": OK + b"Content-Length: 3, 3\r\n\r\nabc",
    "leading zeros": OK + b"Content-Length: 0003\r\n\r\nabc",
    "more than its length": OK + LENGTH + b"abcdef",
    "another answer behind": OK + LENGTH + b"abc" + OK + LENGTH + b"xyz",
    "until the end": OK + b"\r\nabc",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nabc",
    "many fields": OK + b"".join(b"X%d: v\r\n" % number for number in range(90)) + LENGTH + b"abc",
    "interim": b"HTTP/1.1 103 x\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK + LENGTH + b"abc",
    "interim with bare line feeds": b"HTTP/1.1 100 x\n\n" + OK + LENGTH + b"abc",
    "chunked": CHUNKED + b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
    "chunked, bare line feeds": CHUNKED + b"2\nab\n1\nc\n0\n\n",
    "chunked with extensions": CHUNKED + b'3;a=b;c="d;e"\r\nabc\r\n0;x\r\n\r\n',
    "chunked with spaces": CHUNKED + b"3  \r\nabc\r\n0 \r\n\r\n",
    "chunked, zeros and capitals": CHUNKED + b"0003\r\nabc\r\n000\r\n\r\n",
    "chunked with a trailer": CHUNKED + b"3\r\nabc\r\n0\r\nDigest: x\r\nB: c\r\n\r\n",
    "chunked without its last line": CHUNKED + b"3\r\nabc\r\n0\r\n",
    "chunked with more behind": CHUNKED + b"3\r\nabc\r\n0\r\n\r\nxyz",
    "Chunked": OK + b"transfer-encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunked and a length": OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "chunked and two lengths": OK
    + b"Content-Length: 9\r\nContent-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"3\r\nabc\r\n0\r\n\r\n",
    "identity": OK + b"Transfer-Encoding: identity\r\n" + LENGTH + b"abc",
    "a coding that nobody knows": OK + b"Transfer-Encoding: x\r\n\r\nabc",
}


@pytest.mark.parametrize("response", WHOLE.values(), ids=WHOLE.keys())
def test_what_browsers_read_is_read(response: bytes) -> None:
    """All of it, byte by byte too, and a field that is there is found."""
    for answer in (read(response), read(*(response[at : at + 1] for at in range(len(response))))):
        assert (answer.error, answer.cut, answer.body) == (None, None, b"abc")
        assert answer.head is not None
        assert answer.head.status == 200
        assert answer.head.raw.endswith(b"\r\n")
        assert answer.head.raw.count(b"\n") == answer.head.raw.count(b"\r\n")


BROKEN = {
    "HTTP/0.9": b"<html><p>hello</html>",
    "HTTP/0.9, short": b"<p>",
    "TLS": b"\x15\x03\x03\x00\x02\x02\x0a",
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "text of another protocol": b"220 mail.example ESMTP ready\r\n",
    "rubbish of more than four bytes": b"rubbish" + OK + LENGTH + b"abc",
    "a status of no class": b"HTTP/1.1 99 x\r\n" + LENGTH + b"abc",
    "a long status": b"HTTP/1.1 20000 x\r\n" + LENGTH + b"abc",
    "different lengths": OK + b"Content-Length: 9\r\n" + LENGTH + b"abc",
    "a list of different lengths": OK + b"Content-Length: 3, 4\r\n\r\nabc",
    "a negative length": OK + b"Content-Length: -1\r\n\r\nabc",
    "a length with a sign": OK + b"Content-Length: +3\r\n\r\nabc",
    "a length of words": OK + b"Content-Length: three\r\n\r\nabc",
    "a length in hex": OK + b"Content-Length: 0x3\r\n\r\nabc",
    "a length beyond all bounds": OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nabc",
    "a chunk longer than its size": CHUNKED + b"4\r\nHello\r\n0\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-3\r\nabc\r\n0\r\n\r\n",
    "a chunk with a prefix": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk beyond all bounds": CHUNKED + b"f" * 17 + b"\r\nabc",
    "not chunked as declared": CHUNKED + b"<html><p>hello",
    "an endless size line": CHUNKED + b"3;" + b"x" * 20_000,
    "an endless trailer": CHUNKED + b"0\r\n" + b"A: b\r\n" * 20_000,
    "a large header": OK + b"A: " + b"b" * 2_000 + b"\r\n\r\n",
    "many small fields": OK + b"A: b\r\n" * 500 + b"\r\n",
    "an endless header": OK + b"A: " + b"b" * 2_000,
    "interim for ever": b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    "only blank lines": b"\r\n" * 2_000,
}


@pytest.mark.parametrize("response", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_http_is_an_error(response: bytes) -> None:
    """At once where more cannot mend it, and the connection is not used again."""
    answer = read(response)
    assert isinstance(answer.error, BrokenProtocol), (answer.error, answer.body)
    assert (answer.done, answer.keep, answer.cut) == (True, False, None)


@pytest.mark.parametrize(
    ("response", "broke", "cut", "body"),
    [
        (b"", None, None, b""),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n", None, None, b""),
        (b"HTT", None, None, b""),
        (OK + b"Content-Length: 9\r\n\r\nabc", None, Cut.DISCONNECT, b"abc"),
        (OK + b"\r\nabc", ConnectionResetError(), Cut.DISCONNECT, b"abc"),
        (CHUNKED + b"3\r\nabc\r\n", None, Cut.DISCONNECT, b"abc"),
        (CHUNKED + b"9\r\nabc", None, Cut.DISCONNECT, b"abc"),
        (CHUNKED, None, Cut.DISCONNECT, b""),
    ],
)
def test_an_early_end_is_a_disconnect(response: bytes, broke: Exception | None, cut: Cut | None, body: bytes) -> None:
    """What came before it is kept, with its mark."""
    answer = read(response, broke=broke)
    assert isinstance(answer.error, Disconnected)
    assert (answer.cut, answer.body, answer.keep) == (cut, body, False)


@pytest.mark.parametrize(
    ("response", "keep"),
    [
        (OK + LENGTH + b"abc", True),
        (OK + LENGTH + b"abcX", False),
        (OK + b"Connection: close\r\n" + LENGTH + b"abc", False),
        (OK + b"Connection: Keep-Alive, CLOSE\r\n" + LENGTH + b"abc", False),
        (b"HTTP/1.0 200 OK\r\n" + LENGTH + b"abc", False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH + b"abc", True),
        (CHUNKED + b"3\r\nabc\r\n0\r\n\r\n", True),
        (CHUNKED + b"3\r\nabc\r\n0\r\n\r\nX", False),
        (OK + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", False),
        (b"HTTP/1.1 204 x\r\n\r\n", True),
        (b"HTTP/1.1 304 x\r\nContent-Length: 3\r\n\r\n", True),
        (b"HTTP/1.1 304 x\r\nContent-Length: 3\r\n\r\nabc", False),
    ],
)
def test_a_connection_is_kept_only_where_nothing_else_can_be_meant(response: bytes, keep: bool) -> None:
    """What follows an answer could pass for the next one (RFC 9112, 11.2)."""
    answer = read(response, closed=False)
    assert (answer.done, answer.keep) == (True, keep)


def test_a_body_ends_at_its_bound() -> None:
    """One byte more than wanted is a cut; just as many are whole; of a body that nobody wants nothing is read."""
    for start in (OK + b"Content-Length: 6\r\n\r\n", OK + b"\r\n", CHUNKED + b"6\r\n"):
        cut = read(start + b"abcdef", limit=3, closed=False)
        assert (cut.cut, cut.body, cut.done, cut.keep) == (Cut.LENGTH, b"abc", True, False)
    whole = read(OK + LENGTH + b"abc", limit=3)
    assert (whole.cut, whole.body) == (None, b"abc")
    unread = read(OK + LENGTH + b"abc", limit=LEAVE_UNREAD, closed=False)
    assert (unread.done, unread.body, unread.keep) == (True, b"", False)


def test_tiny_chunks_cost_no_more_than_they_hold() -> None:
    """A body in chunks of one byte is one buffer; framing without a body has its own bound."""
    tiny = read(CHUNKED, *[b"1\r\na\r\n" * 100] * 100, b"0\r\n\r\n", limit=200_000)
    assert (tiny.error, len(tiny.body)) == (None, 10_000)
    endless = read(CHUNKED, *[b"1\r\na\r\n" * 1_000] * 100, limit=200_000, closed=False)
    assert isinstance(endless.error, BrokenProtocol)
    assert len(endless.body) < 20_000
    padded = read(CHUNKED, *[b"1;" + b"x" * 10_000 + b"\r\na\r\n"] * 500, limit=200_000, closed=False)
    assert isinstance(padded.error, BrokenProtocol)


def test_a_header_is_kept_as_it_came() -> None:
    """Order, case, repeats and any byte; only what is no field is left out, and what is folded unfolded."""
    lines = b"HTTP/1.1 200 Tr\xe8s\r\nB: 1\r\nSet-Cookie: a\r\nset-cookie:b \r\nX: caf\xe9"
    assert Head(lines).raw == lines + b"\r\n"
    head = Head(b"HTTP/1.1 200 OK\nA : 1\n  2\nrubbish\nA: 3")
    assert head.raw == b"HTTP/1.1 200 OK\r\nA: 1 2\r\nA: 3\r\n"
    assert head.values(b"a") == [b"1 2", b"3"]


@given(st.data(), st.sampled_from(sorted({**WHOLE, **BROKEN}.items())))
def test_the_cutting_of_the_bytes_changes_nothing(data: st.DataObject, named: tuple[str, bytes]) -> None:
    """Whatever pieces the network makes, the answer is the same; of one that is refused nothing is read."""
    response = named[1][:3_000]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(response)), max_size=5)))
    pieces = [response[start:end] for start, end in zip([0, *cuts], [*cuts, len(response)], strict=True)]
    one, many = read(response), read(*pieces)
    assert (type(one.error), one.cut) == (type(many.error), many.cut)
    assert one.body == many.body or (one.error is not None and one.cut is None)


@given(
    st.lists(st.binary(max_size=60), max_size=6), st.sampled_from([b"", OK, CHUNKED, OK + b"Content-Length: 50\r\n"])
)
def test_any_bytes_give_an_answer(pieces: list[bytes], start: bytes) -> None:
    """Whatever a server sends, it ends."""
    assert read(start, *pieces).done
