-- Decisions: why a URL was not crawled. Taken again after a crash, a decision has the same id and another time.
CREATE TABLE IF NOT EXISTS decisions
(
    crawl LowCardinality(String) COMMENT 'Name of the crawl.',
    host String COMMENT 'Canonical host, with the port where it is not the scheme''s own.',
    url String COMMENT 'Canonical URL.',
    decision_id String COMMENT 'BLAKE2b-128 of crawl, URL, stage, reason, detail and depth, 32 hex digits.',
    url_id String COMMENT 'BLAKE2b-128 of the URL, 32 hex digits.',
    stage LowCardinality(String) COMMENT 'Who decided.',
    reason LowCardinality(String) COMMENT 'The rule, by name.',
    detail Nullable(String) COMMENT 'More, for people.',
    depth Int32 COMMENT 'Links from a seed.',
    at DateTime64(6, 'UTC') CODEC(DoubleDelta, LZ4) COMMENT 'When it was decided, the last time.',
    inserted_at DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(DoubleDelta, LZ4) COMMENT 'When the row was written.',
    trace_id String COMMENT 'W3C trace, the same in every log line; empty without one.',
    span_id String COMMENT 'The span that produced the record.',
    kafka_partition Int32 COMMENT 'Partition of the topic events it was read from.',
    kafka_offset Int64 CODEC(Delta, LZ4) COMMENT 'Offset in that partition.'
)
ENGINE = ReplacingMergeTree(at)
PARTITION BY toYYYYMM(at)
PRIMARY KEY (crawl, host, url)
ORDER BY (crawl, host, url, decision_id)
SETTINGS non_replicated_deduplication_window = 1000, min_bytes_for_wide_part = 67108864
COMMENT 'Why URLs were not crawled. Read with FINAL (or final = 1), so that a repeat after a crash is not counted.';
