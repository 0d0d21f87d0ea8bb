-- What keeps a database with millions of tasks usable: lists that find what is rare, counts without counting, events that are
-- thrown away by the day.

-- Most tasks have no key, and need no entry.
ALTER TABLE tasks DROP CONSTRAINT tasks_idempotency_key_key;
CREATE UNIQUE INDEX tasks_key ON tasks (idempotency_key) WHERE idempotency_key IS NOT NULL;

-- Lists, newest first. Running tasks are found by their leases: a claim adds nothing here.
CREATE INDEX tasks_status ON tasks (status, id) WHERE status <> 1;
CREATE INDEX tasks_executor ON tasks (executor, id);
CREATE INDEX tasks_name ON tasks (name text_pattern_ops, id);
CREATE INDEX tasks_roots ON tasks (id) WHERE id = tree_id;

-- Tasks per state, as changes: 0 is all that have not ended, 2, 3 and 4 how they ended. Their sum is exact in every snapshot.
-- Transactions only add rows, so that none waits for another; the leader adds them up.
CREATE TABLE task_counts (
    status smallint NOT NULL CHECK (status IN (0, 2, 3, 4)),
    change bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);
INSERT INTO task_counts SELECT CASE status WHEN 1 THEN 0 ELSE status END, count(*) FROM tasks GROUP BY 1;

-- A partition for each day. What belongs to no day that has one, because no leader was there to make it, is in a partition of its own.
ALTER TABLE task_events RENAME TO task_events_old;
DROP INDEX task_events_of, task_events_order, task_events_age;
CREATE SEQUENCE task_event_ids;
SELECT setval('task_event_ids', (SELECT coalesce(max(event_id), 0) + 1 FROM task_events_old), false);
CREATE TABLE task_events (
    event_id   bigint NOT NULL DEFAULT nextval('task_event_ids'),
    task_id    uuid NOT NULL,
    event_type text NOT NULL,
    node_id    text,
    attempt_id integer,
    fence      bigint,
    epoch      bigint,
    details    jsonb,
    timestamp  timestamptz NOT NULL DEFAULT clock_timestamp(),
    xid        bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
) PARTITION BY RANGE (timestamp);
CREATE INDEX task_events_of ON task_events (task_id, event_id);
CREATE INDEX task_events_order ON task_events (xid, event_id);
CREATE TABLE task_events_other PARTITION OF task_events DEFAULT;
INSERT INTO task_events SELECT * FROM task_events_old;
DROP TABLE task_events_old;

-- Makes the partition of a day, and moves there what was written before there was one.
CREATE FUNCTION make_event_partition(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    name     text := 'task_events_' || to_char(day, 'YYYYMMDD');
    midnight timestamptz := day::timestamp AT TIME ZONE 'UTC';
    next_day timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
    IF to_regclass(quote_ident(name)) IS NOT NULL THEN
        RETURN false;
    END IF;
    LOCK TABLE task_events_other IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('CREATE TABLE %I (LIKE task_events INCLUDING DEFAULTS)', name);
    EXECUTE format('WITH moved AS (DELETE FROM task_events_other WHERE timestamp >= %L AND timestamp < %L RETURNING *)
                    INSERT INTO %I SELECT * FROM moved', midnight, next_day, name);
    EXECUTE format('ALTER TABLE task_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, midnight, next_day);
    RETURN true;
END $$;
SELECT make_event_partition((clock_timestamp() AT TIME ZONE 'UTC')::date + ahead) FROM generate_series(0, 2) AS ahead;
