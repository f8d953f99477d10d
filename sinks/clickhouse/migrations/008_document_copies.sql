-- Copies of texts, and the main text as Markdown.
ALTER TABLE documents
    ADD COLUMN IF NOT EXISTS duplicate_of Nullable(String) CODEC(ZSTD) COMMENT 'An earlier page of the crawl with the same text, where its worker had seen it: duplicates(crawl = ...) knows all.',
    ADD COLUMN IF NOT EXISTS near_duplicate_of Nullable(String) CODEC(ZSTD) COMMENT 'Likewise, with a text of a SimHash that differs in 1 to 6 bits.',
    ADD COLUMN IF NOT EXISTS markdown String CODEC(ZSTD) COMMENT 'The main text as Markdown; empty where it is not wanted or does not fit.';
-- Every copy in one crawl, the newest visit of each URL: SELECT * FROM duplicates(crawl = 'NAME').
CREATE VIEW IF NOT EXISTS duplicates AS
WITH
    texts AS
    (
        SELECT url, argMax(content_hash, visit) AS hash, argMax(simhash, visit) AS near, argMax(words, visit) AS length, min(fetched_at) AS since
        FROM documents FINAL
        WHERE crawl = {crawl:String}
        GROUP BY url
        HAVING length >= 20
    ),
    firsts AS
    (
        SELECT hash, argMin(texts.url, (texts.since, texts.url)) AS original, any(texts.near) AS near, min(texts.since) AS since
        FROM texts
        GROUP BY hash
    ),
    pieces AS
    (
        SELECT hash, original, near, since, arrayJoin([0, 13, 26, 39, 52]) AS place, bitAnd(bitShiftRight(reinterpretAsUInt64(near), place), 8191) AS piece
        FROM firsts
        WHERE near != 0
    )
SELECT url, original AS duplicate_of, 0 AS bits
FROM texts INNER JOIN firsts USING (hash)
WHERE url != original
UNION ALL
SELECT later.original AS url, argMin(earlier.original, (bitHammingDistance(later.near, earlier.near), earlier.since)) AS duplicate_of, min(bitHammingDistance(later.near, earlier.near)) AS bits
FROM pieces AS later INNER JOIN pieces AS earlier USING (place, piece)
WHERE bitHammingDistance(later.near, earlier.near) BETWEEN 1 AND 6 AND (earlier.since, earlier.original) < (later.since, later.original)
GROUP BY later.original;
