-- The order in which an organization's entities are listed.
create index entity_number on entity (organization, entity, partition);
