-- Documents: one row for each visit of a URL. Read one host or one site together: the key begins with crawl and host.
CREATE TABLE IF NOT EXISTS documents
(
    crawl LowCardinality(String) COMMENT 'Name of the crawl.',
    host String COMMENT 'Canonical host, with the port where it is not the scheme''s own.',
    url String COMMENT 'Canonical URL.',
    visit Int32 COMMENT 'Visits of this URL in this crawl, from 0.',
    url_id String COMMENT 'BLAKE2b-128 of the URL, 32 hex digits.',
    fetch_id String COMMENT 'The attempt that brought the page: joins with fetches.',
    fetched_at DateTime64(6, 'UTC') CODEC(DoubleDelta, LZ4) COMMENT 'When the request began.',
    cleaned_at DateTime64(6, 'UTC') CODEC(DoubleDelta, LZ4) COMMENT 'When the page was cleaned; of two rows of one visit the newer stays.',
    inserted_at DateTime64(3, 'UTC') DEFAULT now64(3) CODEC(DoubleDelta, LZ4) COMMENT 'When the row was written.',
    depth Int32 COMMENT 'Links from a seed.',
    parent Nullable(String) COMMENT 'The page that holds the link, or the URL that redirected here.',
    status Int32 COMMENT 'HTTP status.',
    content_type LowCardinality(Nullable(String)) COMMENT 'Essence of the media type.',
    charset LowCardinality(Nullable(String)) COMMENT 'WHATWG name of the encoding that was used.',
    title Nullable(String) COMMENT 'Title of the page.',
    text String CODEC(ZSTD) COMMENT 'Main text.',
    links Array(String) CODEC(ZSTD) COMMENT 'Canonical URLs it links to, in document order, each once.',
    content_hash String COMMENT 'BLAKE2b-128 of the text, 32 hex digits: equal texts have equal hashes.',
    body_bytes Int64 COMMENT 'Bytes of the decoded body.',
    cut LowCardinality(Nullable(String)) COMMENT 'Why the body is shorter than meant: length, time or disconnect.',
    flags Array(LowCardinality(String)) COMMENT 'What the cleaner could not do as it should; empty for a good page.',
    cleaner LowCardinality(String) COMMENT 'Name and version of the cleaner.',
    trace_id String COMMENT 'W3C trace of the visit, the same in every log line; empty without one.',
    span_id String COMMENT 'The span that produced the record.',
    kafka_partition Int32 COMMENT 'Partition of the topic documents it was read from.',
    kafka_offset Int64 CODEC(Delta, LZ4) COMMENT 'Offset in that partition.'
)
ENGINE = ReplacingMergeTree(cleaned_at)
PARTITION BY toYYYYMM(fetched_at)
PRIMARY KEY (crawl, host, url)
ORDER BY (crawl, host, url, visit)
SETTINGS non_replicated_deduplication_window = 1000, min_bytes_for_wide_part = 67108864
COMMENT 'Cleaned pages. Read with FINAL (or final = 1), so that a repeat after a crash is not counted.';
