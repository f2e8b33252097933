-- What keeps the numbers of two processes apart in the same millisecond: whose each is, and until when it was certainly in use.
create table number_salt (
  salt smallint primary key,
  node int not null,
  kept_at timestamptz not null
);
