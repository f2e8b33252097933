-- What has come to its time, and what comes next, is found without looking at every open job.
create index job_start on job (start_at, job) where status = 'SCHEDULED' and unresolved = '[]';
create index job_stop on job (stop_at, job) where status in ('IN_PROGRESS', 'PAUSED') and stop_at is not null;
create index job_wake on job (wake_at, job) where status = 'IN_PROGRESS' and wake_at is not null;
create index job_unresolved on job (resolve_failures, job)
  where status in ('IDLE', 'SCHEDULED') and unresolved <> '[]' and task is null;
create index job_unresolved_of_task on job (start_at, job)
  where status = 'SCHEDULED' and unresolved <> '[]' and task is not null;
