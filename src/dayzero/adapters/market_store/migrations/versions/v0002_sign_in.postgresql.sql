CREATE TABLE attempt (
    bucket TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    tried INTEGER NOT NULL,
    CONSTRAINT attempt_pk PRIMARY KEY (bucket, starts_at),
    CONSTRAINT attempt_bucket CHECK (length(bucket) = 64)
)
--;;
CREATE TABLE credential (
    account_id TEXT NOT NULL,
    password TEXT NOT NULL,
    changed_at BIGINT NOT NULL,
    CONSTRAINT credential_pk PRIMARY KEY (account_id),
    CONSTRAINT credential_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT credential_house CHECK (account_id <> 'house'),
    CONSTRAINT credential_hashed CHECK (substr(password, 1, 10) = '$argon2id$')
)
--;;
CREATE TABLE session (
    token_sha256 TEXT NOT NULL,
    account_id TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    CONSTRAINT session_pk PRIMARY KEY (token_sha256),
    CONSTRAINT session_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT session_digest CHECK (length(token_sha256) = 64)
)
--;;
CREATE INDEX session_by_account ON session (account_id)
--;;
CREATE TABLE token (
    token_sha256 TEXT NOT NULL,
    id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    revoked_at BIGINT,
    CONSTRAINT token_pk PRIMARY KEY (token_sha256),
    CONSTRAINT token_account FOREIGN KEY(account_id) REFERENCES account (id),
    CONSTRAINT token_digest CHECK (length(token_sha256) = 64),
    CONSTRAINT token_labelled CHECK (length(trim(label)) > 0),
    CONSTRAINT token_scopes CHECK (scopes IN ('read', 'read buy'))
)
--;;
CREATE INDEX token_by_account ON token (account_id)
