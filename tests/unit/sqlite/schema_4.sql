CREATE TABLE tenure_schema(version INTEGER NOT NULL);
INSERT INTO tenure_schema VALUES(4);
CREATE TABLE tenure_queue(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  identity TEXT NOT NULL UNIQUE,  -- a random uuid; of a queue that is kept elsewhere, as its place tells it
  elsewhere INTEGER NOT NULL,   -- 0: its messages are here; 1: only its owner, keys, attempts and dead letters
  last INTEGER NOT NULL,        -- n of the newest message ever
  election TEXT, path TEXT);    -- that consumes it; null before the first term
CREATE UNIQUE INDEX tenure_queue_here ON tenure_queue(name) WHERE elsewhere = 0;
CREATE TABLE tenure_message(
  n INTEGER PRIMARY KEY,        -- queue number << 40 | place in the queue
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL,
  headers TEXT,                 -- JSON [[name, value], …]; null for none
  enqueued_at INTEGER NOT NULL);
CREATE TABLE tenure_number(
  queue INTEGER NOT NULL, grp TEXT NOT NULL,
  last INTEGER NOT NULL,        -- that a message of the group was given
  PRIMARY KEY(queue, grp)) WITHOUT ROWID;
CREATE TABLE tenure_sent(
  queue INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(queue, id)) WITHOUT ROWID;
CREATE INDEX tenure_sent_at ON tenure_sent(at);
CREATE TABLE tenure_fence(
  election TEXT NOT NULL PRIMARY KEY,
  ensemble TEXT NOT NULL, generation INTEGER NOT NULL, token INTEGER NOT NULL CHECK(token >= 0),
  seq INTEGER NOT NULL,         -- counts the term's commits
  path TEXT NOT NULL, candidate TEXT NOT NULL,
  host TEXT NOT NULL, pid INTEGER NOT NULL, start_time INTEGER NOT NULL, boot_id TEXT NOT NULL,
  pid_namespace INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  change TEXT NOT NULL) WITHOUT ROWID;  -- who made the last change of seq
CREATE TABLE tenure_key(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, id TEXT NOT NULL,
  state INTEGER NOT NULL,       -- 0 done, 1 dead
  digest BLOB NOT NULL, token INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_attempt(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, id TEXT NOT NULL,
  attempts INTEGER NOT NULL, last_error TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  standing INTEGER NOT NULL DEFAULT 0,  -- 0 retrying, 1 blocked, 2 released
  PRIMARY KEY(queue, consumer, id)) WITHOUT ROWID;
CREATE TABLE tenure_in_work(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  token INTEGER NOT NULL, more INTEGER NOT NULL,
  ids BLOB NOT NULL,            -- each id followed by a NUL
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_dead_letter(
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL, headers TEXT, enqueued_at INTEGER NOT NULL,
  position INTEGER NOT NULL, reason TEXT NOT NULL, attempts INTEGER NOT NULL,
  first_at INTEGER NOT NULL, died_at INTEGER NOT NULL);
CREATE INDEX tenure_dead_letter_of ON tenure_dead_letter(queue);
CREATE TABLE tenure_state(
  election TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL,
  PRIMARY KEY(election, key)) WITHOUT ROWID;
CREATE TABLE tenure_log(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, n INTEGER NOT NULL,  -- in the order of commits
  id TEXT NOT NULL, attempt INTEGER NOT NULL,
  outcome INTEGER NOT NULL, error TEXT NOT NULL,
  token INTEGER NOT NULL, began_at INTEGER NOT NULL, ended_at INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer, n)) WITHOUT ROWID;
