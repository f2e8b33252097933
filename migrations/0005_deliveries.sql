-- The log of what was told to clients, and from which it is told again; pg-boss holds the queue in a schema of its own.

drop table delivery;

create table delivery (
  delivery uuid primary key,
  organization int not null references organization on delete cascade,
  job bigint not null,
  channel text not null,
  event text not null,
  -- the callback or the mail address; empty where configuration names the receiver
  receiver text not null,
  -- the host that answers for it: what is dead is dead for all of its deliveries
  host text not null,
  -- JSON as it is sent, text so that it is the same at every attempt
  body text not null,
  -- false until the page of operations is in the body
  complete boolean not null,
  state text not null,
  attempts int not null default 0,
  last_status int,
  last_error text,
  created_at timestamptz not null,
  -- tried since: the making, or the last repeat
  opened_at timestamptz not null,
  attempted_at timestamptz,
  ended_at timestamptz
);
create index delivery_job on delivery (job, channel);
create index delivery_organization on delivery (organization, created_at, delivery);
create index delivery_state on delivery (organization, state, created_at, delivery);
create index delivery_open on delivery (created_at, delivery) where state = 'OPEN';
