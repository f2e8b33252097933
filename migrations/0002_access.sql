-- Who may ask and what was asked: emails are one whatever their case, and every changing request leaves a line.

create unique index users_email on users (lower(email));

create table audit (
  entry bigint generated always as identity primary key,
  at timestamptz not null,
  -- the organization acted in; null where nobody was let in
  organization int,
  user_email text,
  address text not null,
  method text not null,
  path text not null,
  status int not null,
  error_code text,
  request_id text not null
);
create index audit_organization on audit (organization, entry);
create index audit_age on audit (at);
