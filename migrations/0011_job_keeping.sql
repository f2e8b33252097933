-- when the gate of a job in progress opens next, and what waits for present devices is looked at again
alter table job add column wake_at timestamptz;
-- how often the target could not be resolved
alter table job add column resolve_failures int not null default 0;
