-- Fetches: one row for each attempt, in the order in which one host was asked.
CREATE TABLE IF NOT EXISTS fetches
(
    crawl LowCardinality(String) COMMENT 'Name of the crawl.',
    host String COMMENT 'Canonical host, with the port where it is not the scheme''s own.',
    started_at DateTime64(6, 'UTC') CODEC(DoubleDelta, LZ4) COMMENT 'When the request began.',
    fetch_id String COMMENT 'Names the attempt; unique.',
    url String COMMENT 'Canonical URL.',
    url_id String COMMENT 'BLAKE2b-128 of the URL, 32 hex digits.',
    kind LowCardinality(String) COMMENT 'What it was for: page or robots.',
    lease String COMMENT 'The frontier''s permission that it used.',
    visit Int32 COMMENT 'Visits of this URL in this crawl, from 0; a retry belongs to the same visit.',
    attempt Int32 COMMENT 'Attempts of this visit, from 0.',
    depth Int32 COMMENT 'Links from a seed.',
    hops Int32 COMMENT 'Redirects in a row that led here.',
    parent Nullable(String) COMMENT 'The page that holds the link, or the URL that redirected here.',
    outcome LowCardinality(String) COMMENT 'How it ended: ok, redirect, client_error, timeout and so on.',
    status Nullable(Int32) COMMENT 'HTTP status, where one came.',
    error Nullable(String) COMMENT 'What went wrong, for people.',
    dns_ms Nullable(Float64) COMMENT 'Name resolution.',
    connect_ms Nullable(Float64) COMMENT 'Transport and TLS set-up together.',
    first_byte_ms Nullable(Float64) COMMENT 'From the start to the response head.',
    total_ms Float64 COMMENT 'From the start to the last byte.',
    body_bytes Int64 COMMENT 'Bytes of the body on the wire.',
    cut LowCardinality(Nullable(String)) COMMENT 'Why the body is shorter than meant: length, time or disconnect.',
    content_type Nullable(String) COMMENT 'As declared.',
    redirect_to Nullable(String) COMMENT 'Where a redirect points, not yet judged.',
    retry_after Nullable(String) COMMENT 'As sent.',
    etag Nullable(String) COMMENT 'As sent.',
    last_modified Nullable(String) COMMENT 'As sent.',
    remote_address Nullable(String) COMMENT 'The address that was dialled.',
    robots Nullable(String) COMMENT 'Hash of the robots.txt version that allowed it; the topic robots keeps the versions.',
    worker LowCardinality(String) COMMENT 'Who fetched it.',
    inserted_at DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(DoubleDelta, LZ4) COMMENT 'When the row was written.',
    trace_id String COMMENT 'W3C trace of the visit, the same in every log line; empty without one.',
    span_id String COMMENT 'The span that produced the record.',
    kafka_partition Int32 COMMENT 'Partition of the topic fetches it was read from.',
    kafka_offset Int64 CODEC(Delta, LZ4) COMMENT 'Offset in that partition.'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(started_at)
PRIMARY KEY (crawl, host, started_at)
ORDER BY (crawl, host, started_at, fetch_id)
SETTINGS non_replicated_deduplication_window = 1000, min_bytes_for_wide_part = 67108864
COMMENT 'Every attempt to fetch. Read with FINAL (or final = 1), so that a repeat after a crash is not counted.';
