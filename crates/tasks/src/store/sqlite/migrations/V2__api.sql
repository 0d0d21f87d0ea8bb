-- A schedule that is paused fires only when it is triggered.
ALTER TABLE schedules ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;

-- What all nodes of this database sign lease tokens with.
CREATE TABLE cluster_secrets (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    token_key BLOB NOT NULL
) STRICT;

CREATE INDEX task_archive_tree ON task_archive (tree_id);
