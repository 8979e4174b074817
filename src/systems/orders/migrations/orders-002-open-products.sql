-- A database of an earlier version has these tables, from a migration of another name.
-- How a product was opened last is found without its history: each hold and sale of a product is an event of it.
CREATE INDEX IF NOT EXISTS events_open ON events (aggregate, version) WHERE type = 'open';
