-- A schedule that is paused fires only when it is triggered.
ALTER TABLE schedules ADD COLUMN paused boolean NOT NULL DEFAULT false;

-- What all nodes of this database sign lease tokens with.
CREATE TABLE cluster_secrets (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    token_key bytea NOT NULL
);

CREATE INDEX task_archive_tree ON task_archive (tree_id);
