CREATE TABLE cluster_leader (
    singleton   INTEGER PRIMARY KEY CHECK (singleton = 1),
    leader_id   TEXT NOT NULL,
    boot_id     BLOB NOT NULL,
    lease_token BLOB NOT NULL,
    epoch       INTEGER NOT NULL,
    acquired_at INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL
) STRICT;

CREATE TABLE distributed_nodes (
    node_id        TEXT NOT NULL,
    boot_id        BLOB NOT NULL,
    executor_types TEXT NOT NULL,
    capabilities   TEXT NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('healthy', 'stale', 'dead')),
    heartbeat_at   INTEGER NOT NULL,
    registered_at  INTEGER NOT NULL,
    address        TEXT,
    version        TEXT NOT NULL,
    PRIMARY KEY (node_id, boot_id)
) STRICT;

CREATE TABLE placement_classes (
    id          INTEGER PRIMARY KEY,
    digest      TEXT NOT NULL UNIQUE,
    constraints TEXT NOT NULL
) STRICT;

CREATE TABLE tasks (
    id                  BLOB PRIMARY KEY,
    tree_id             BLOB NOT NULL,
    parent_id           BLOB,
    name                TEXT NOT NULL,
    executor            TEXT NOT NULL,
    status              INTEGER NOT NULL CHECK (status BETWEEN 0 AND 4),
    priority            INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 3),
    run_at              INTEGER NOT NULL,
    placement_id        INTEGER NOT NULL,
    unmet_deps          INTEGER NOT NULL CHECK (unmet_deps >= 0),
    attempt_id          INTEGER NOT NULL DEFAULT 0,
    failures            INTEGER NOT NULL DEFAULT 0,
    crashes             INTEGER NOT NULL DEFAULT 0,
    max_attempts        INTEGER NOT NULL,
    timeout_seconds     INTEGER,
    backoff             TEXT NOT NULL,
    idempotency_key     TEXT UNIQUE,
    submission_digest   TEXT NOT NULL,
    inputs              TEXT NOT NULL,
    result              TEXT,
    error               TEXT,
    progress            REAL,
    cancel_requested_at INTEGER,
    last_assigned_node  TEXT,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    completed_at        INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_ready ON tasks (placement_id, priority, run_at, id) WHERE status = 0 AND unmet_deps = 0;
CREATE INDEX tasks_tree ON tasks (tree_id);
CREATE INDEX tasks_ended ON tasks (completed_at) WHERE completed_at IS NOT NULL;

-- An edge is met once: when its dependency completed, or ended otherwise and was optional.
CREATE TABLE task_dependencies (
    task_id    BLOB NOT NULL,
    depends_on BLOB NOT NULL,
    required   INTEGER NOT NULL,
    met        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (depends_on, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_dependencies_of ON task_dependencies (task_id);

CREATE TABLE task_leases (
    task_id          BLOB PRIMARY KEY,
    fence            INTEGER NOT NULL,
    attempt_id       INTEGER NOT NULL,
    node_id          TEXT NOT NULL,
    boot_id          BLOB NOT NULL,
    acquired_at      INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL,
    deadline_at      INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The last fence that was given out. It never goes down.
CREATE TABLE fences (
    singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
    last      INTEGER NOT NULL
) STRICT;
INSERT INTO fences VALUES (1, 0);

CREATE TABLE execution_idempotency (
    scope_key  TEXT PRIMARY KEY,
    task_id    BLOB NOT NULL,
    fence      INTEGER NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('begun', 'done')),
    result     TEXT,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE task_events (
    event_id   INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id    BLOB NOT NULL,
    event_type TEXT NOT NULL,
    node_id    TEXT,
    attempt_id INTEGER,
    fence      INTEGER,
    epoch      INTEGER,
    details    TEXT,
    timestamp  INTEGER NOT NULL
) STRICT;
CREATE INDEX task_events_of ON task_events (task_id, event_id);
CREATE INDEX task_events_age ON task_events (timestamp);

CREATE TABLE schedules (
    id          BLOB PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    spec        TEXT NOT NULL,
    next_run_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE schedule_runs (
    schedule_id BLOB NOT NULL,
    fire_time   INTEGER NOT NULL,
    tree_id     BLOB NOT NULL,
    PRIMARY KEY (schedule_id, fire_time)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_archive (
    id          BLOB PRIMARY KEY,
    tree_id     BLOB NOT NULL,
    archived_at INTEGER NOT NULL,
    record      TEXT NOT NULL
) STRICT, WITHOUT ROWID;
