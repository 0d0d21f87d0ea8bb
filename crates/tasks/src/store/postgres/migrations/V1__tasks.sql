-- Times go over the wire as milliseconds since 1970; here they are timestamps of the server's clock.
CREATE FUNCTION to_ms(timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT floor(extract(epoch FROM $1) * 1000)::bigint $$;
CREATE FUNCTION at_ms(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT 'epoch'::timestamptz + $1 * interval '1 millisecond' $$;
CREATE FUNCTION in_ms(bigint) RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT $1 * interval '1 millisecond' $$;

CREATE TABLE cluster_leader (
    singleton   boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    leader_id   text NOT NULL,
    boot_id     uuid NOT NULL,
    lease_token uuid NOT NULL,
    epoch       bigint NOT NULL,
    acquired_at timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL
);

CREATE TABLE distributed_nodes (
    node_id        text NOT NULL,
    boot_id        uuid NOT NULL,
    executor_types text[] NOT NULL,
    capabilities   jsonb NOT NULL,
    status         text NOT NULL CHECK (status IN ('healthy', 'stale', 'dead')),
    heartbeat_at   timestamptz NOT NULL,
    registered_at  timestamptz NOT NULL,
    address        text,
    version        text NOT NULL,
    -- Whether the process holds its advisory lock, so that a free one says that it is dead.
    holds_lock     boolean NOT NULL,
    PRIMARY KEY (node_id, boot_id)
);

CREATE TABLE placement_classes (
    id          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest      text NOT NULL UNIQUE,
    constraints jsonb NOT NULL
);

CREATE TABLE tasks (
    id                  uuid PRIMARY KEY,
    tree_id             uuid NOT NULL,
    parent_id           uuid,
    name                text NOT NULL,
    executor            text NOT NULL,
    status              smallint NOT NULL CHECK (status BETWEEN 0 AND 4),
    priority            smallint NOT NULL CHECK (priority BETWEEN 0 AND 3),
    run_at              timestamptz NOT NULL,
    placement_id        integer NOT NULL,
    unmet_deps          integer NOT NULL CHECK (unmet_deps >= 0),
    attempt_id          integer NOT NULL DEFAULT 0,
    failures            integer NOT NULL DEFAULT 0,
    crashes             integer NOT NULL DEFAULT 0,
    max_attempts        integer NOT NULL,
    timeout_seconds     integer,
    backoff             jsonb NOT NULL,
    idempotency_key     text UNIQUE,
    submission_digest   text NOT NULL,
    inputs              jsonb NOT NULL,
    result              jsonb,
    error               text,
    progress            real,
    cancel_requested_at timestamptz,
    last_assigned_node  text,
    created_at          timestamptz NOT NULL,
    started_at          timestamptz,
    completed_at        timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX tasks_ready ON tasks (placement_id, priority, run_at, id) WHERE status = 0 AND unmet_deps = 0;
CREATE INDEX tasks_tree ON tasks (tree_id);
CREATE INDEX tasks_ended ON tasks (completed_at) WHERE completed_at IS NOT NULL;

-- An edge is met once: when its dependency completed, or ended otherwise and was optional.
CREATE TABLE task_dependencies (
    task_id    uuid NOT NULL,
    depends_on uuid NOT NULL,
    required   boolean NOT NULL,
    met        boolean NOT NULL DEFAULT false,
    PRIMARY KEY (depends_on, task_id)
);
CREATE INDEX task_dependencies_of ON task_dependencies (task_id);

-- No index on expires_at: the table is small, and renewals stay inside their page.
CREATE TABLE task_leases (
    task_id          uuid PRIMARY KEY,
    fence            bigint NOT NULL,
    attempt_id       integer NOT NULL,
    node_id          text NOT NULL,
    boot_id          uuid NOT NULL,
    acquired_at      timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    deadline_at      timestamptz,
    cancel_requested boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
        autovacuum_vacuum_cost_delay = 0);

CREATE SEQUENCE fences;

CREATE TABLE execution_idempotency (
    scope_key  text PRIMARY KEY,
    task_id    uuid NOT NULL,
    fence      bigint NOT NULL,
    status     text NOT NULL CHECK (status IN ('begun', 'done')),
    result     jsonb,
    created_at timestamptz NOT NULL
);

-- The transaction is kept beside the number, as numbers are given out before their transactions commit.
CREATE TABLE task_events (
    event_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task_id    uuid NOT NULL,
    event_type text NOT NULL,
    node_id    text,
    attempt_id integer,
    fence      bigint,
    epoch      bigint,
    details    jsonb,
    timestamp  timestamptz NOT NULL DEFAULT clock_timestamp(),
    xid        bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
);
CREATE INDEX task_events_of ON task_events (task_id, event_id);
CREATE INDEX task_events_order ON task_events (xid, event_id);
CREATE INDEX task_events_age ON task_events (timestamp);

CREATE TABLE schedules (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    spec        jsonb NOT NULL,
    next_run_at timestamptz
);

CREATE TABLE schedule_runs (
    schedule_id uuid NOT NULL,
    fire_time   timestamptz NOT NULL,
    tree_id     uuid NOT NULL,
    PRIMARY KEY (schedule_id, fire_time)
);

CREATE TABLE task_archive (
    id          uuid PRIMARY KEY,
    tree_id     uuid NOT NULL,
    archived_at timestamptz NOT NULL,
    record      jsonb NOT NULL
);
