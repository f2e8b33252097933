-- What failed logins have used up, by account and by address, for all nodes and across restarts. Keys are keyed hashes: who tried, and
-- what was typed for a name, is nobody's to read. A row that is rested says no more than none, and goes.
create table login_budget (
  key bytea primary key,
  rested_at timestamptz not null
);
