-- What keeps the numbers of two processes apart in the same millisecond: whose each is, and until when it was certainly in use.
create table number_salt (
  salt smallint primary key,
  node int not null,
  kept_at timestamptz not null
);

-- When the connection was made that counts for a device: what is recorded late does not replace one that was made later.
alter table presence add column mqtt_since timestamptz;
