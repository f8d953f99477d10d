"""What can never succeed is kept, byte for byte, with the reason; it is never dropped."""

from datetime import UTC, datetime
from hashlib import blake2b

from infra.errors import NeverValid
from infra.kafka.inbound import Inbound
from infra.kafka.producer import Outbound
from infra.kafka.topics import TopicName, all_topics
from schemas.letters import DeadLetter
from schemas.wire import encode

_ROOM_FOR_THE_REST = 64 * 1024


def dead_letter(stage: str, record: Inbound, why: NeverValid, attempts: int) -> Outbound:
    """The letter for ``record``. The same record of the same stage always gets the same ``letter_id``.

    Bytes that do not fit the topic's limit are left out and the letter says so: the source record still stands at the
    offset that it names.
    """
    limit = all_topics()[TopicName.DEAD_LETTERS].max_record_bytes - _ROOM_FOR_THE_REST
    fits = len(record.value or b"") + 2 * len(record.key or b"") <= limit
    place = f"{stage}/{record.topic}/{record.partition}/{record.offset}"
    letter = DeadLetter(
        letter_id=blake2b(place.encode(), digest_size=16).hexdigest(),
        stage=stage,
        reason=why.reason,
        error=str(why)[:2_000],
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key if fits else None,
        value=record.value if fits else None,
        truncated=not fits,
        attempts=attempts,
        at=datetime.now(UTC),
    )
    key = record.key if fits else None
    # Headers go along unchanged: a requeued record continues its trace.
    return Outbound(TopicName.DEAD_LETTERS, key, encode(letter), list(record.headers.items()))
