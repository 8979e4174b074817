CREATE TABLE coupon (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  campaign text NOT NULL,
  number integer NOT NULL,
  person text NOT NULL,
  at timestamptz NOT NULL,
  UNIQUE (campaign, number)
);
CREATE INDEX ON coupon (person, id);
