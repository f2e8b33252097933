-- The trace that a job goes on with, as a `traceparent`: of the request that made or activated it. Null where none is recorded.
alter table job add column trace text;
