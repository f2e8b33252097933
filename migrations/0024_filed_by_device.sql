-- Of each device only the newest messages that changed nothing are kept: the others are found by it.
create index filed_message_device on filed_message (organization, identifier, received_at);
