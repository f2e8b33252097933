-- The trace, as a `traceparent`, of the request that made a task or last changed it: the trace of each of its runs is linked to that one.
-- Null where none is recorded.
alter table task add column trace text;
