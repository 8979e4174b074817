-- A database of an earlier version has these tables, from a migration of another name.
CREATE TABLE IF NOT EXISTS bids (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  auction text NOT NULL,
  seq bigint NOT NULL,
  request_id text NOT NULL,
  user_id text NOT NULL,
  amount bigint NOT NULL,
  kind text NOT NULL,
  at timestamptz NOT NULL,
  UNIQUE (auction, seq, request_id)
);
CREATE INDEX IF NOT EXISTS bids_by_user ON bids (user_id, id DESC);
