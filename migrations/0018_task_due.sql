-- When the next task has something to follow is found without looking at every open one.
create index task_due on task ((case when waiting_job is null then stop_at else waiting_at end))
  where state in ('ACTIVE', 'INACTIVE');
