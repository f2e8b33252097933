-- What did not succeed is what is searched for, and what failed in a job is what is looked at: a few rows among many. Those that
-- succeeded are not in it, so that their end costs no more than before. It holds all that such a search filters, sorts and counts by.
create index operation_ended_unsuccessful on operation_ended (job, partition, entity)
  include (organization, status, result, counter, ended_at) where result <> 'SUCCESSFUL';
