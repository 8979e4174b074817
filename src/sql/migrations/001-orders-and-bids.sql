-- Sales as they were opened last, and what became of them.
CREATE TABLE sales (
  id text PRIMARY KEY,
  terms jsonb NOT NULL,
  stock bigint NOT NULL,
  status text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE orders (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  sale text NOT NULL,
  user_id text NOT NULL,
  claim text NOT NULL,
  seq bigint NOT NULL,
  quantity bigint NOT NULL CHECK (quantity > 0),
  status text NOT NULL,
  request_id text NOT NULL,
  created_at timestamptz NOT NULL,
  UNIQUE (sale, claim),
  UNIQUE (sale, user_id, request_id)
);
CREATE INDEX orders_by_user ON orders (user_id, id DESC);

CREATE TABLE bids (
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
CREATE INDEX bids_by_user ON bids (user_id, id DESC);

-- How far a consumer has got in the outbox of a partition; only the owner with this token may write.
CREATE TABLE consumer_cursor (
  system text NOT NULL,
  consumer text NOT NULL,
  partition int NOT NULL,
  entry text NOT NULL,
  token bigint NOT NULL,
  PRIMARY KEY (system, consumer, partition)
);
