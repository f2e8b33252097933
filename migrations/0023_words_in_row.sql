-- What an operation has been told of stands in its own row, which is written with every message anyway: a row beside it was looked up, written
-- and taken away for each operation. `operation_detail` keeps parameters of an operation's own, and what builds before this one wrote there.
alter table operation add column steps jsonb, add column attempts jsonb, add column messages jsonb, add column description text;
