-- Since when a job that is paused is so; what it says of one that is not means nothing.
alter table job add column paused_at timestamptz;
