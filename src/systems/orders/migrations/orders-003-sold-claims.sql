-- Whether a claim was sold is found without the history of its product, which forgets claims long before its events go.
CREATE INDEX IF NOT EXISTS events_sold ON events (aggregate, (data->>'claim')) WHERE type = 'sold';
