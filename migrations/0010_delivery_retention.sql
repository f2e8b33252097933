-- What leaves the log first; a delivery that is open, or was opened again, has no end.
create index delivery_ended on delivery (ended_at) where ended_at is not null;
