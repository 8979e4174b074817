-- How a product was opened last is found without its history: each hold and sale of a product is an event of it.
CREATE INDEX events_open ON events (aggregate, version) WHERE type = 'open';
