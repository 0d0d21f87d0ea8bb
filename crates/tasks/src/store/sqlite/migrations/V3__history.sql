-- What keeps a database with millions of tasks usable: lists that find what is rare, and counts without counting.

-- Lists, newest first: every index ends with the id, the key of the table.
CREATE INDEX tasks_status ON tasks (status);
CREATE INDEX tasks_executor ON tasks (executor);
CREATE INDEX tasks_name ON tasks (name);
CREATE INDEX tasks_roots ON tasks (id) WHERE id = tree_id;

-- Tasks per state, kept by triggers: no way to change a task leaves them behind.
CREATE TABLE task_counts (
    status INTEGER PRIMARY KEY,
    count  INTEGER NOT NULL
) STRICT;
INSERT INTO task_counts SELECT value, (SELECT count(*) FROM tasks WHERE status = value) FROM json_each('[0, 1, 2, 3, 4]');
CREATE TRIGGER tasks_counted_in AFTER INSERT ON tasks BEGIN
    UPDATE task_counts SET count = count + 1 WHERE status = new.status;
END;
CREATE TRIGGER tasks_counted_on AFTER UPDATE OF status ON tasks WHEN old.status <> new.status BEGIN
    UPDATE task_counts SET count = count - 1 WHERE status = old.status;
    UPDATE task_counts SET count = count + 1 WHERE status = new.status;
END;
CREATE TRIGGER tasks_counted_out AFTER DELETE ON tasks BEGIN
    UPDATE task_counts SET count = count - 1 WHERE status = old.status;
END;
