-- The node that has the request of a QUEUED operation in hand; null once it is ready again. A send timer that is about an earlier
-- sender is told apart by it.
alter table operation add column sender int;
