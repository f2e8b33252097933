-- Control tables: who may ask, what may be asked, what was asked. They stay on one machine.

create table setting (
  name text primary key,
  value text not null
);

create table organization (
  organization int generated always as identity primary key,
  name text not null unique,
  document jsonb not null default '{}',
  created_at timestamptz not null
);

create table users (
  email text primary key,
  organization int not null references organization,
  profile text not null,
  password_hash text not null,
  api_key_hash bytea not null unique,
  api_key_sealed bytea not null,
  document jsonb not null default '{}',
  created_at timestamptz not null
);
create index users_organization on users (organization, email);

create table operation_type (
  organization int not null references organization on delete cascade,
  name text not null,
  title text,
  description text,
  applicable_to text[] not null default '{}',
  models jsonb not null default '[]',
  parameters jsonb not null default '{"type":"object"}',
  steps jsonb not null default '[]',
  profiles text[],
  from_catalog text,
  document jsonb not null default '{}',
  created_at timestamptz not null,
  primary key (organization, name)
);

create type task_state as enum ('ACTIVE', 'INACTIVE', 'FINISHED', 'CANCELLING', 'CANCELLED');

create table task (
  task bigint primary key,
  organization int not null references organization on delete cascade,
  id text not null,
  name text,
  description text,
  user_email text not null,
  user_profile text not null,
  active boolean not null,
  state task_state not null,
  schedule jsonb not null,
  request jsonb not null,
  executions int not null default 0,
  skipped int not null default 0,
  -- the job made for the next occurrence
  waiting_job bigint,
  waiting_at timestamptz,
  stop_at timestamptz,
  created_at timestamptz not null,
  unique (organization, id)
);
create index task_open on task (task) where state in ('ACTIVE', 'INACTIVE', 'CANCELLING');

create type job_status as enum (
  'IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'FINISHED', 'FINISHED_WITH_ERRORS',
  'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE', 'CANCELLED', 'TIMEOUT_CANCELLED'
);

-- One row per job. `request` is what clients read back; the columns beside it are what statements need.
create table job (
  job bigint primary key,
  organization int not null references organization on delete cascade,
  task bigint,
  name text not null,
  user_email text not null,
  request jsonb not null,
  status job_status not null,
  -- a target still to be resolved: [{"tag":…} | {"filter":…,"resourceTypes":[…]}], in the order asked
  unresolved jsonb not null default '[]',
  refused jsonb not null default '{}',
  warnings jsonb not null default '[]',
  created_at timestamptz not null,
  activated_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  start_at timestamptz,
  stop_at timestamptz,
  ack_timeout_ms bigint not null default 0,
  timeout_ms bigint not null,
  retries int not null default 0,
  retries_delay_ms bigint not null default 0,
  retry_results text[] not null default '{}',
  -- launching by place: operation k of `places` is due at launch_at + spread_ms * k / places of open window time
  places int not null default 0,
  spread_ms bigint not null default 0,
  launch_at timestamptz,
  -- the overdue lane: places below overdue_places are spread anew over overdue_ms from overdue_at
  overdue_from int not null default 0,
  overdue_places int not null default 0,
  overdue_at timestamptz,
  overdue_ms bigint not null default 0,
  error_code text,
  error_description text
);
create index job_organization on job (organization, job);
create index job_task on job (task, job) where task is not null;
create index job_open on job (status, job) where status in
  ('IDLE', 'SCHEDULED', 'IN_PROGRESS', 'PAUSED', 'CANCELLING_BY_USER', 'CANCELLING_BY_ENGINE');

-- Folded counters, and the deltas not folded yet: a read is the sum of both in one snapshot.
create table job_counter (
  job bigint primary key,
  scheduled int not null default 0,
  pending_execution int not null default 0,
  waiting_for_connection int not null default 0,
  started int not null default 0,
  successful int not null default 0,
  error int not null default 0,
  by_user int not null default 0,
  by_engine int not null default 0,
  by_timeout int not null default 0,
  by_external_timeout int not null default 0,
  by_external int not null default 0,
  by_already_in_progress int not null default 0,
  oot_successful int not null default 0,
  oot_error int not null default 0,
  -- raised by every fold that changes something: what live events are told apart by
  revision bigint not null default 0
) with (fillfactor = 50);

create table job_counter_delta (
  job bigint not null,
  scheduled int not null default 0,
  pending_execution int not null default 0,
  waiting_for_connection int not null default 0,
  started int not null default 0,
  successful int not null default 0,
  error int not null default 0,
  by_user int not null default 0,
  by_engine int not null default 0,
  by_timeout int not null default 0,
  by_external_timeout int not null default 0,
  by_external int not null default 0,
  by_already_in_progress int not null default 0,
  oot_successful int not null default 0,
  oot_error int not null default 0
);
create index job_counter_delta_job on job_counter_delta (job);

-- What live events are made of: one row per fold and job, kept ten minutes.
create table job_change (
  job bigint not null,
  revision bigint not null,
  organization int not null,
  changed_at timestamptz not null,
  summary jsonb not null,
  primary key (job, revision)
);
create index job_change_age on job_change (changed_at);
create index job_change_organization on job_change (organization, changed_at);

create table idempotency_key (
  organization int not null references organization on delete cascade,
  user_email text not null,
  key text not null,
  request_hash text not null,
  job bigint not null,
  created_at timestamptz not null,
  primary key (organization, user_email, key)
);

-- One row per living process.
create table node (
  node int primary key,
  name text not null,
  roles text[] not null,
  started_at timestamptz not null,
  heartbeat_at timestamptz not null
);

-- The log of what was sent to clients; pg-boss carries it out.
create table delivery (
  delivery uuid primary key,
  organization int not null,
  job bigint not null,
  kind text not null,
  address text not null,
  payload jsonb not null,
  state text not null,
  attempts int not null default 0,
  last_error text,
  last_status int,
  created_at timestamptz not null,
  attempted_at timestamptz,
  ended_at timestamptz
);
create index delivery_job on delivery (job);
create index delivery_organization on delivery (organization, created_at);

-- Messages that changed nothing: strays, duplicates, poisoned ones. Kept for the people who look.
create table filed_message (
  organization int not null,
  received_at timestamptz not null,
  identifier text not null,
  operation_id text,
  reason text not null,
  message text not null
);
create index filed_message_age on filed_message (organization, received_at);

-- Hot tables. `partition` (0 to 255, a hash of organization and identifier made by the application) is part of every key.

create type operation_status as enum (
  'PENDING', 'QUEUED', 'WAITING_FOR_ACK', 'WAITING_FOR_CONNECTION', 'IN_PROGRESS',
  'FINISHED', 'FINISHED_OUT_OF_TIME', 'TIMEOUT_CANCELLED', 'NOT_ALLOWED', 'CANCELLED'
);
create type operation_result as enum (
  'SUCCESSFUL', 'PARTIAL_SUCCESS', 'OPERATION_PENDING', 'ERROR_IN_PARAM', 'NOT_ALLOWED', 'NOT_SUPPORTED',
  'ALREADY_IN_PROGRESS', 'ERROR_PROCESSING', 'ERROR_TIMEOUT', 'TIMEOUT_CANCELLED', 'CANCELLED',
  'CANCELLED_INTERNAL', 'UNKNOWN_RESULT'
);
-- the counter that an operation is counted in, named as the column of job_counter
create type operation_counter as enum (
  'scheduled', 'pending_execution', 'waiting_for_connection', 'started', 'successful', 'error', 'by_user',
  'by_engine', 'by_timeout', 'by_external_timeout', 'by_external', 'by_already_in_progress', 'oot_successful',
  'oot_error'
);
create type operation_flow as enum ('http', 'mqtt', 'pull', 'function');

create table entity (
  partition smallint not null,
  entity bigint not null,
  organization int not null,
  identifier text not null,
  resource_type text not null,
  -- provisioned values: datastream id → value, arrays for `[]` ids
  document jsonb not null,
  -- latest collected values: datastream id → {"value","at"}
  collected jsonb not null default '{}',
  cell_info text,
  tags text[] not null default '{}',
  model text,
  -- how the device is reached; null where the service chooses
  flow text,
  url text,
  -- the first subscription address, for the URL template
  address text,
  parameters_as text not null default 'typed',
  -- the device that carries this subscription, subscriber or module
  device_partition smallint,
  device bigint,
  api_key_hash bytea,
  api_key_sealed bytea,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partition, entity),
  unique (partition, organization, identifier)
);
create index entity_organization on entity (organization, resource_type, identifier);
create index entity_tags on entity using gin (tags);
create index entity_document on entity using gin (document jsonb_path_ops);
create index entity_device on entity (device) where device is not null;

-- Where a device is: connected over MQTT to a node, or last seen asking.
create table presence (
  partition smallint not null,
  entity bigint not null,
  mqtt_node int,
  mqtt_connection text,
  connected_at timestamptz,
  disconnected_at timestamptz,
  seen_at timestamptz not null,
  primary key (partition, entity)
) with (fillfactor = 70);

-- Open operations. Narrow, and no index on anything that a transition changes: updates stay in their page.
create table operation (
  job bigint not null,
  partition smallint not null,
  entity bigint not null,
  status operation_status not null default 'PENDING',
  attempt smallint not null default 0,
  flow operation_flow,
  -- the first launch, and that of the present attempt
  started_at timestamptz,
  launched_at timestamptz,
  -- when the request last left, or the device was last heard of it
  heard_at timestamptz,
  deadline_at timestamptz,
  primary key (job, partition, entity)
) with (fillfactor = 40);
create index operation_entity on operation (partition, entity);

-- Only what an open operation has of its own.
create table operation_detail (
  job bigint not null,
  partition smallint not null,
  entity bigint not null,
  parameters jsonb,
  steps jsonb,
  attempts jsonb,
  messages jsonb,
  description text,
  primary key (job, partition, entity)
);

create table operation_ready (
  job bigint not null,
  place int not null,
  partition smallint not null,
  entity bigint not null,
  primary key (job, place, partition, entity)
);

-- Armed deadlines, retries and sends: one row per batch and due second.
create table operation_timer (
  due_at timestamptz not null,
  duty text not null,
  node int,
  jobs bigint[] not null,
  partitions smallint[] not null,
  entities bigint[] not null
);
create index operation_timer_due on operation_timer (due_at);

-- At most one launched operation of a name on an entity.
create table operation_live (
  partition smallint not null,
  entity bigint not null,
  name text not null,
  job bigint not null,
  primary key (partition, entity, name)
);

create table operation_ended (
  job bigint not null,
  partition smallint not null,
  entity bigint not null,
  organization int not null,
  status operation_status not null,
  result operation_result not null,
  counter operation_counter not null,
  attempt smallint not null,
  flow operation_flow,
  started_at timestamptz,
  ended_at timestamptz not null,
  parameters jsonb,
  steps jsonb,
  attempts jsonb,
  messages jsonb,
  description text,
  primary key (job, partition, entity)
) partition by range (job);
create index operation_ended_entity on operation_ended (partition, entity);
create index operation_ended_organization on operation_ended (organization, ended_at);
create table operation_ended_rest partition of operation_ended default;
