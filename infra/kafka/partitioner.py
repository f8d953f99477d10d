"""Where a key's records stand: murmur2, as Kafka's own clients and Faust place them."""

_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_WORD = 0xFFFFFFFF


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of ``key`` among ``partitions`` (Apache Kafka, ``BuiltInPartitioner.partitionForKey``)."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def murmur2(data: bytes) -> int:
    """32 bits of MurmurHash2 (Appleby, 2008) with Kafka's seed."""
    digest = (_SEED ^ len(data)) & _WORD
    whole = len(data) & ~3
    for place in range(0, whole, 4):
        word = int.from_bytes(data[place : place + 4], "little") * _MULTIPLIER & _WORD
        word = (word ^ word >> 24) * _MULTIPLIER & _WORD
        digest = (digest * _MULTIPLIER & _WORD) ^ word
    if rest := data[whole:]:
        digest = (digest ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _WORD
    digest = (digest ^ digest >> 13) * _MULTIPLIER & _WORD
    return digest ^ digest >> 15
