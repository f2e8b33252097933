-- Spreads the hot tables over the machines of a Citus cluster, by `partition`. A separate step, taken once by a superuser on the coordinator,
-- when the schema is there and no node runs; rows that are there move along:
--
--   psql -v ON_ERROR_STOP=1 -f deploy/citus/distribute.sql "$DATABASE_URL"
--
-- Jobs, their counters, timers and everything else stay on the coordinator. docs/operating/beyond-one-machine.md says what of this has been
-- run, and what has not.

create extension if not exists citus;

-- Few shards, about four for each worker: a batch of answers touches all of them in one statement.
select create_distributed_table('entity', 'partition', shard_count := 8);
select create_distributed_table('carried', 'partition', colocate_with := 'entity');
select create_distributed_table('former_entity', 'partition', colocate_with := 'entity');
select create_distributed_table('presence', 'partition', colocate_with := 'entity');
select create_distributed_table('operation', 'partition', colocate_with := 'entity');
select create_distributed_table('operation_detail', 'partition', colocate_with := 'entity');
select create_distributed_table('operation_ready', 'partition', colocate_with := 'entity');
select create_distributed_table('operation_live', 'partition', colocate_with := 'entity');
select create_distributed_table('operation_ended', 'partition', colocate_with := 'entity');

-- Rows of the coordinator that change in one transaction with a partition.
select citus_add_local_table_to_metadata('job');
select citus_add_local_table_to_metadata('job_counter');
select citus_add_local_table_to_metadata('job_counter_delta');
select citus_add_local_table_to_metadata('operation_timer');

-- Guarded updates of different batches meet no row of each other: they need not wait for each other's statement.
do $$
begin
  execute format('alter database %I set citus.all_modifications_commutative = on', current_database());
end $$;
