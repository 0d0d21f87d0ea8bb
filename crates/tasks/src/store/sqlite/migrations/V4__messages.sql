-- What a client said when it submitted a tree, and the conversation that the tree belongs to.
CREATE TABLE task_messages (
    tree_id    BLOB PRIMARY KEY,
    context_id TEXT NOT NULL,
    message    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX task_messages_context ON task_messages (context_id, tree_id);
