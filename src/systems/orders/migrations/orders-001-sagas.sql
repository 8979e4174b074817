-- A database of an earlier version has these tables, from a migration of another name.
-- Events of orders, products and customers, as they left the outbox of their partition. The generation is the lineage of the servers that
-- the event was written by: after a failover an older history may use the same numbers again.
CREATE TABLE IF NOT EXISTS events (
  partition int NOT NULL,
  generation text NOT NULL,
  seq bigint NOT NULL,
  aggregate text NOT NULL,
  version bigint NOT NULL,
  type text NOT NULL,
  data jsonb NOT NULL,
  at timestamptz NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (partition, generation, seq),
  UNIQUE (aggregate, version)
);
CREATE INDEX IF NOT EXISTS events_by_id ON events (partition, id);
CREATE INDEX IF NOT EXISTS events_first ON events (partition, aggregate) WHERE version <= 1;

-- Views: the fold of the events, written with them (src/systems/orders/views.js).
CREATE TABLE IF NOT EXISTS order_view (
  aggregate text PRIMARY KEY,
  partition int NOT NULL,
  version bigint NOT NULL,
  status text NOT NULL,
  reason text NOT NULL,
  parked text NOT NULL,
  customer text NOT NULL,
  total bigint NOT NULL,
  lines jsonb NOT NULL,
  placed_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL
);
CREATE INDEX IF NOT EXISTS order_view_by_status ON order_view (status) WHERE status NOT IN ('confirmed', 'cancelled');

CREATE TABLE IF NOT EXISTS stock_view (
  aggregate text PRIMARY KEY,
  partition int NOT NULL,
  version bigint NOT NULL,
  status text NOT NULL,
  about jsonb NOT NULL,
  available bigint NOT NULL,
  held bigint NOT NULL,
  sold bigint NOT NULL,
  changed_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS customer_view (
  aggregate text PRIMARY KEY,
  partition int NOT NULL,
  version bigint NOT NULL,
  about jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
