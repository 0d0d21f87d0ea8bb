-- What a client said when it submitted a tree, and the conversation that the tree belongs to.
CREATE TABLE task_messages (
    tree_id    uuid PRIMARY KEY,
    context_id text NOT NULL,
    message    jsonb NOT NULL
);
CREATE INDEX task_messages_context ON task_messages (context_id, tree_id);
