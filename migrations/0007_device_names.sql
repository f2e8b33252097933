-- Behind an external broker a topic names the device alone: it is looked for by its id in every organization.
create index entity_device_identifier on entity (identifier) where resource_type = 'entity.device';
