-- What devices say they carry: a row per module, subscription or subscriber that a device names. It lies with what is named, which
-- need not exist yet; `place` is its module's among those of the device.
create table carried (
  partition smallint not null,
  organization int not null,
  identifier text not null,
  resource_type text not null,
  device_partition smallint not null,
  device bigint not null,
  place smallint not null,
  primary key (partition, organization, identifier, resource_type, device_partition, device)
);
create index carried_device on carried (device_partition, device);

-- A device says its key before it says whose it is.
create index entity_api_key on entity (api_key_hash) where api_key_hash is not null;

-- Collected values change often and stand in no index: room in the page keeps those updates there.
alter table entity set (fillfactor = 80);

-- Since when the cell is so: it comes under several ids, and the newest counts.
alter table entity add column cell_at timestamptz;

-- Ids beside the data model that an organization has provisioned or collected, so that filters know them.
create table datastream (
  organization int not null references organization on delete cascade,
  id text not null,
  primary key (organization, id)
);
