-- What live events are read by: the transaction that wrote a change, so that what is newer than a snapshot is found whole and once,
-- and how many operations it ended, for figures per time.
alter table job_change
  add column xid xid8 not null default pg_current_xact_id(),
  add column ended int not null default 0,
  add column successful int not null default 0;
drop index job_change_organization;
create index job_change_organization on job_change (organization, xid);
