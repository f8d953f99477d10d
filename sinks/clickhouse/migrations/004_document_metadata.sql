-- What a page tells about itself, and figures of its text.
ALTER TABLE documents
    ADD COLUMN IF NOT EXISTS language LowCardinality(Nullable(String)) COMMENT 'ISO 639 code of the language of the text.',
    ADD COLUMN IF NOT EXISTS author Nullable(String) COMMENT 'Who wrote it.',
    ADD COLUMN IF NOT EXISTS published Nullable(String) COMMENT 'ISO 8601, as exact as the page has it, with the offset that it names: parseDateTimeBestEffort reads it.',
    ADD COLUMN IF NOT EXISTS modified Nullable(String) COMMENT 'Likewise.',
    ADD COLUMN IF NOT EXISTS site_name LowCardinality(Nullable(String)) COMMENT 'Name of the site or publisher.',
    ADD COLUMN IF NOT EXISTS description Nullable(String) CODEC(ZSTD) COMMENT 'The page''s own summary.',
    ADD COLUMN IF NOT EXISTS canonical Nullable(String) COMMENT 'The URL that the page calls its own.',
    ADD COLUMN IF NOT EXISTS images Array(String) CODEC(ZSTD) COMMENT 'Canonical URLs of images, those that stand for the page first.',
    ADD COLUMN IF NOT EXISTS json_ld Array(String) CODEC(ZSTD) COMMENT 'Each JSON-LD block as compact JSON.',
    ADD COLUMN IF NOT EXISTS headings Array(String) CODEC(ZSTD) COMMENT 'Of the main text: as many # as the level, a space, the heading.',
    ADD COLUMN IF NOT EXISTS anchors Array(String) CODEC(ZSTD) COMMENT 'The text of the first link to each of links, in the same order.',
    ADD COLUMN IF NOT EXISTS words Int32 COMMENT 'Words of the main text, between white space.',
    ADD COLUMN IF NOT EXISTS link_density Float64 COMMENT 'The share of the main part''s characters that are links.',
    ADD COLUMN IF NOT EXISTS simhash Int64 COMMENT 'SimHash of the text: bitHammingDistance tells how near two texts are.',
    ADD COLUMN IF NOT EXISTS sources Map(LowCardinality(String), String) COMMENT 'Where each field that the page tells about itself was found.';
