-- When a device was last heard over a broker of the operator, beside its calls: after a while of silence it counts as gone.
alter table presence add column mqtt_heard_at timestamptz;
