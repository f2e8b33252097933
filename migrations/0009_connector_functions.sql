-- JavaScript by which devices of an organization are reached that speak a language of their own. Every source it ever had stands in
-- its versions; the function itself says which of them runs.
create table connector_function (
  organization int not null references organization on delete cascade,
  name text not null,
  description text,
  -- last segment of the address at which devices post messages of their own format
  route text,
  version int not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (organization, name)
);
create unique index connector_function_route on connector_function (organization, route) where route is not null;

create table connector_function_version (
  organization int not null,
  name text not null,
  version int not null,
  source text not null,
  user_email text not null,
  created_at timestamptz not null,
  primary key (organization, name, version),
  foreign key (organization, name) references connector_function on delete cascade
);
