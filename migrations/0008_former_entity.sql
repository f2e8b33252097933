-- What ended operations were on, once it is deleted: an operation keeps the id of its entity.
create table former_entity (
  partition smallint not null,
  entity bigint not null,
  organization int not null,
  identifier text not null,
  resource_type text not null,
  deleted_at timestamptz not null,
  primary key (partition, entity)
);
create index former_entity_identifier on former_entity (partition, organization, identifier);
create index former_entity_organization on former_entity (organization);
create index former_entity_age on former_entity (deleted_at);
