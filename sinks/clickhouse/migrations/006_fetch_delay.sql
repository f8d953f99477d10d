-- What the politeness of a fetch is judged by.
ALTER TABLE fetches
    ADD COLUMN IF NOT EXISTS delay_ms Nullable(Int32) COMMENT 'The host''s delay when the request was released: what had to pass since the request before.' AFTER robots;
