"""Records as JSON."""

import json
from datetime import UTC, datetime

from schemas.records import Decision


def test_hashes_are_hex_in_json() -> None:
    """Bytes that are no text are told as well, as people write them."""
    identity = bytes(range(240, 256))
    decision = Decision.model_construct(url_id=identity, at=datetime(2026, 1, 1, tzinfo=UTC))
    assert json.loads(decision.model_dump_json(include={"url_id"})) == {"url_id": identity.hex()}
    assert decision.model_dump(mode="json", include={"url_id"}) == {"url_id": identity.hex()}
