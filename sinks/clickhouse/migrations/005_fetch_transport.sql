-- What carried a fetch, and what TLS took by itself.
ALTER TABLE fetches
    ADD COLUMN IF NOT EXISTS tls_ms Nullable(Float64) COMMENT 'TLS handshake.' AFTER connect_ms,
    ADD COLUMN IF NOT EXISTS protocol LowCardinality(Nullable(String)) COMMENT 'As the server names it.' AFTER remote_address,
    ADD COLUMN IF NOT EXISTS tls LowCardinality(Nullable(String)) COMMENT 'Version and cipher suite.' AFTER protocol,
    ADD COLUMN IF NOT EXISTS proxy LowCardinality(Nullable(String)) COMMENT 'Through which it went, without credentials.' AFTER tls,
    MODIFY COLUMN connect_ms COMMENT 'Set-up of the transport, without TLS.';
