-- Secrets of systems whose ids outlive the servers: the same email is the same customer afterwards.
CREATE TABLE system_secrets (
  system text PRIMARY KEY,
  secret text NOT NULL
);
