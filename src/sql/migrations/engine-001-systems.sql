-- A database of an earlier version has these tables, from a migration of another name.
-- How far a consumer has got in the outbox of a partition; only the owner with this token may write.
CREATE TABLE IF NOT EXISTS consumer_cursor (
  system text NOT NULL,
  consumer text NOT NULL,
  partition int NOT NULL,
  entry text NOT NULL,
  token bigint NOT NULL,
  PRIMARY KEY (system, consumer, partition)
);

-- Secrets of systems whose ids outlive the servers: the same email is the same customer afterwards.
CREATE TABLE IF NOT EXISTS system_secrets (
  system text PRIMARY KEY,
  secret text NOT NULL
);
