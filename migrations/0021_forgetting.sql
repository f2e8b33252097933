-- What is kept for a while only is found by its age, some thousand rows at a time, without reading the rest.
create index filed_message_received on filed_message (received_at);
create index idempotency_key_age on idempotency_key (created_at);
