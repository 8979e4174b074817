-- A database of an earlier version has these tables, from a migration of another name.
-- Sales as they were opened last, and what became of them.
CREATE TABLE IF NOT EXISTS sales (
  id text PRIMARY KEY,
  terms jsonb NOT NULL,
  stock bigint NOT NULL,
  status text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS orders (
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
CREATE INDEX IF NOT EXISTS orders_by_user ON orders (user_id, id DESC);
