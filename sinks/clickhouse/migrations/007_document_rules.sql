-- What per-site rules and custom cleaners found.
ALTER TABLE documents
    ADD COLUMN IF NOT EXISTS extracted JSON COMMENT 'Fields of per-site rules and custom cleaners, typed: extracted.price reads one.',
    ADD COLUMN IF NOT EXISTS rules LowCardinality(Nullable(String)) COMMENT 'Version of the rules that were in force.';
