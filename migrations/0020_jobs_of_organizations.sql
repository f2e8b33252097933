-- The next jobs to be launched of each organization are found without looking at those of the others.
create index job_launching on job (organization, job) where status = 'IN_PROGRESS';
