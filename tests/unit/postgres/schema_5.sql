CREATE TABLE tenure_schema(version bigint NOT NULL);
INSERT INTO tenure_schema VALUES(5);
CREATE TABLE tenure_queue(
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  identity text NOT NULL UNIQUE DEFAULT gen_random_uuid()::text,  -- of a queue that is kept elsewhere, as its place tells it
  elsewhere boolean NOT NULL DEFAULT false,  -- its messages are not here: only its owner, keys, attempts, dead letters
  last bigint NOT NULL DEFAULT 0,  -- n of the newest message ever
  election text, path text)        -- that consumes it; null before the first term
  WITH (fillfactor = 10);
CREATE UNIQUE INDEX tenure_queue_here ON tenure_queue(name) WHERE NOT elsewhere;
CREATE TABLE tenure_message(
  queue bigint NOT NULL REFERENCES tenure_queue, n bigint NOT NULL,
  id bytea NOT NULL, grp bytea NOT NULL, body bytea NOT NULL,
  headers text,                    -- JSON [[name, value], …]; null for none
  enqueued_at bigint NOT NULL,
  PRIMARY KEY(queue, n))
  WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
CREATE TABLE tenure_number(
  queue bigint NOT NULL, grp bytea NOT NULL,
  last bigint NOT NULL,            -- that a message of the group was given
  PRIMARY KEY(queue, grp))
  WITH (fillfactor = 50);
CREATE TABLE tenure_sent(
  queue bigint NOT NULL, id bytea NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(queue, id));
CREATE INDEX tenure_sent_at ON tenure_sent(at);
CREATE TABLE tenure_fence(
  election text PRIMARY KEY,
  ensemble text NOT NULL, generation bigint NOT NULL, token bigint NOT NULL CHECK(token >= 0),
  seq bigint NOT NULL,             -- counts the term's commits
  path text NOT NULL, candidate text NOT NULL,
  host text NOT NULL, pid bigint NOT NULL, start_time bigint NOT NULL, boot_id text NOT NULL,
  pid_namespace bigint NOT NULL,
  claimed_at bigint NOT NULL,
  change text NOT NULL)            -- who made the last change of seq
  WITH (fillfactor = 10);
CREATE TABLE tenure_lane(
  election text NOT NULL, lane bigint NOT NULL,
  token bigint NOT NULL,
  seq bigint NOT NULL,             -- counts the lane's commits in the term
  change text NOT NULL,            -- who made the last change of seq
  PRIMARY KEY(election, lane))
  WITH (fillfactor = 10);
CREATE TABLE tenure_key(
  queue bigint NOT NULL, consumer text NOT NULL, id bytea NOT NULL,
  state bigint NOT NULL,           -- 0 done, 1 dead
  digest bytea NOT NULL, token bigint NOT NULL, at bigint NOT NULL,
  PRIMARY KEY(queue, consumer, id));
CREATE TABLE tenure_attempt(
  queue bigint NOT NULL, consumer text NOT NULL, id bytea NOT NULL,
  attempts bigint NOT NULL, last_error bytea NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL,
  standing bigint NOT NULL DEFAULT 0,  -- 0 retrying, 1 blocked, 2 released
  PRIMARY KEY(queue, consumer, id));
CREATE TABLE tenure_in_work(
  queue bigint NOT NULL, consumer text NOT NULL,
  token bigint NOT NULL, more bigint NOT NULL,
  ids bytea NOT NULL,              -- each id followed by a NUL
  PRIMARY KEY(queue, consumer))
  WITH (fillfactor = 10);
CREATE TABLE tenure_dead_letter(
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue bigint NOT NULL REFERENCES tenure_queue, consumer text NOT NULL,
  id bytea NOT NULL, grp bytea NOT NULL, body bytea NOT NULL, headers text, enqueued_at bigint NOT NULL,
  position bigint NOT NULL, reason bytea NOT NULL, attempts bigint NOT NULL,
  first_at bigint NOT NULL, died_at bigint NOT NULL);
CREATE INDEX tenure_dead_letter_of ON tenure_dead_letter(queue, number);
CREATE TABLE tenure_state(
  election text NOT NULL, key bytea NOT NULL, value bytea NOT NULL,
  PRIMARY KEY(election, key));
CREATE TABLE tenure_log(
  queue bigint NOT NULL, consumer text NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY,  -- nearly in the order of commits
  id bytea NOT NULL, attempt bigint NOT NULL,
  outcome bigint NOT NULL, error bytea NOT NULL,
  token bigint NOT NULL, began_at bigint NOT NULL, ended_at bigint NOT NULL,
  PRIMARY KEY(queue, consumer, n));
