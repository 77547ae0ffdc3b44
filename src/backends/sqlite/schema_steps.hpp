/// The steps that bring tables of an earlier version forward to this one. The text of a step stays as it
/// is when a later version changes the tables again.
#pragma once

#include <array>

#include "storage/schema_steps.hpp"

namespace tenure::sqlite {

inline constexpr std::array steps{
    storage::SchemaStep{4, R"sql(
CREATE TABLE tenure_window(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  front INTEGER NOT NULL, lanes INTEGER NOT NULL, ahead INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_streak(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  deaths INTEGER NOT NULL, last_reason TEXT NOT NULL, first_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  standing INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
CREATE TABLE tenure_clock(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  of_store INTEGER NOT NULL,
  wall INTEGER NOT NULL, boot_id TEXT NOT NULL, since_boot INTEGER NOT NULL,
  trusted_from INTEGER NOT NULL,
  PRIMARY KEY(queue, consumer)) WITHOUT ROWID;
INSERT INTO tenure_streak SELECT queue, consumer, attempts, last_error, first_at, last_at, standing
  FROM tenure_attempt WHERE id = 'tenure: dead letters in a row';
INSERT INTO tenure_clock
  SELECT queue, consumer, whose = 'store', last_at, substr(look, 1, instr(look, ' ') - 1),
    CAST(substr(look, instr(look, ' ') + 1) AS INTEGER), first_at
  FROM (SELECT *, substr(last_error, 1, instr(last_error, ' ') - 1) AS whose,
          substr(last_error, instr(last_error, ' ') + 1) AS look
        FROM tenure_attempt WHERE id = 'tenure: last look at the clock');
DELETE FROM tenure_attempt WHERE id IN ('tenure: dead letters in a row', 'tenure: last look at the clock');
INSERT INTO tenure_window
  SELECT queue, substr(consumer, 1, length(consumer) - 7), CAST(CAST(substr(ids, 1, one - 1) AS TEXT) AS INTEGER),
    CAST(CAST(substr(rest, 1, two - 1) AS TEXT) AS INTEGER),
    CAST(CAST(substr(rest, two + 1, length(rest) - two - 1) AS TEXT) AS INTEGER)
  FROM (SELECT *, instr(rest, x'00') AS two
        FROM (SELECT *, instr(ids, x'00') AS one, substr(ids, instr(ids, x'00') + 1) AS rest FROM tenure_in_work
              WHERE consumer GLOB '*' || char(31) || 'window'));
DELETE FROM tenure_in_work WHERE consumer GLOB '*' || char(31) || 'window';
ALTER TABLE tenure_in_work RENAME TO tenure_in_work_4;
CREATE TABLE tenure_in_work(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL,
  lane INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL, more INTEGER NOT NULL,
  ids BLOB NOT NULL,
  suspects_of INTEGER NOT NULL DEFAULT 0,
  narrowed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(queue, consumer, lane)) WITHOUT ROWID;
INSERT INTO tenure_in_work
  SELECT queue, CASE WHEN is_lane THEN substr(consumer, 1, unit - 1) ELSE consumer END,
    CASE WHEN is_lane THEN CAST(substr(consumer, unit + 1) AS INTEGER) ELSE 0 END, token, more,
    CASE WHEN head GLOB char(31) || 'suspects of [0-9]*' OR head GLOB char(31) || 'few suspects of [0-9]*'
      THEN substr(ids, one + 1) ELSE ids END,
    CASE WHEN head GLOB char(31) || 'suspects of [0-9]*' THEN CAST(substr(head, 14) AS INTEGER)
         WHEN head GLOB char(31) || 'few suspects of [0-9]*' THEN CAST(substr(head, 18) AS INTEGER) ELSE 0 END,
    head GLOB char(31) || 'few suspects of [0-9]*'
  FROM (SELECT *, instr(consumer, char(31)) AS unit, instr(ids, x'00') AS one,
          consumer GLOB '*' || char(31) || '[0-9]*'
            AND substr(consumer, instr(consumer, char(31)) + 1) NOT GLOB '*[^0-9]*' AS is_lane,
          coalesce(CAST(substr(ids, 1, max(instr(ids, x'00') - 1, 0)) AS TEXT), '') AS head FROM tenure_in_work_4);
DROP TABLE tenure_in_work_4;
ALTER TABLE tenure_dead_letter ADD COLUMN missing_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_dead_letter ADD COLUMN missing_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN begun_by INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN process_died INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN postponed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN postponed_since INTEGER NOT NULL DEFAULT 0;
UPDATE tenure_attempt SET begun_by = CAST(substr(last_error, 15) AS INTEGER), last_error = ''
  WHERE last_error GLOB 'begun by term [0-9]*, which has not told how it ended';
UPDATE tenure_attempt SET process_died = 1 WHERE last_error = 'its process died';
UPDATE tenure_attempt SET postponed = CAST(substr(last_error, 11) AS INTEGER), postponed_since = first_at,
  last_error = substr(last_error, instr(last_error, 'Z: ') + 3)
  WHERE last_error GLOB 'postponed [0-9]* times since *Z: *';
ALTER TABLE tenure_schema ADD COLUMN senders INTEGER NOT NULL DEFAULT 0;
CREATE TABLE tenure_turn(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, grp TEXT NOT NULL,
  position INTEGER NOT NULL,    -- the last number that is past
  since INTEGER NOT NULL,       -- when the next one began to be missing
  PRIMARY KEY(queue, consumer, grp)) WITHOUT ROWID;
CREATE TABLE tenure_kept(
  queue INTEGER NOT NULL, consumer TEXT NOT NULL, grp TEXT NOT NULL, number INTEGER NOT NULL,
  id TEXT NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL,
  headers BLOB NOT NULL,        -- CBOR, which holds any bytes
  enqueued_at INTEGER NOT NULL, position INTEGER NOT NULL,
  past INTEGER NOT NULL,        -- 1: it died before its turn
  PRIMARY KEY(queue, consumer, grp, number));
CREATE TABLE tenure_waiting(
  added INTEGER PRIMARY KEY AUTOINCREMENT,
  queue TEXT NOT NULL,          -- its name
  id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  due INTEGER NOT NULL DEFAULT 0,  -- 0: at once
  sent_at INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  grp TEXT NOT NULL DEFAULT '', body BLOB NOT NULL,
  headers TEXT,                 -- as those of tenure_message
  numbered INTEGER NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  UNIQUE(queue, id),
  CONSTRAINT queue_has_1_to_64_of_a_z_0_9_dot_underscore_hyphen
    CHECK (typeof(queue) = 'text' AND length(queue) BETWEEN 1 AND 64 AND queue NOT GLOB '*[^-A-Za-z0-9._]*'
      AND queue NOT IN ('.', '..', 'zookeeper')),
  CONSTRAINT id_has_1_to_255_bytes_without_nul
    CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 255 AND instr(CAST(id AS BLOB), x'00') = 0),
  CONSTRAINT grp_has_at_most_255_bytes_without_nul
    CHECK (length(CAST(grp AS BLOB)) <= 255 AND instr(CAST(grp AS BLOB), x'00') = 0),
  CONSTRAINT body_has_at_most_1_mib CHECK (length(CAST(body AS BLOB)) <= 1048576),
  CONSTRAINT headers_are_a_json_array_of_name_and_value
    CHECK (headers IS NULL OR headers = '' OR (length(CAST(headers AS BLOB)) <= 131072 AND json_valid(headers)
      AND json_type(headers) = 'array')),
  CONSTRAINT due_is_0_or_milliseconds_since_1970 CHECK (typeof(due) = 'integer' AND due BETWEEN 0 AND 9000000000000),
  CONSTRAINT numbered_is_0_or_1 CHECK (numbered IN (0, 1)));
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
-- What a CHECK cannot look at: each element of the headers.
CREATE TRIGGER tenure_waiting_headers BEFORE INSERT ON tenure_waiting
  WHEN NEW.headers <> '' AND json_valid(NEW.headers) AND EXISTS (
    SELECT 1 FROM json_each(NEW.headers) AS pair WHERE CASE WHEN pair.type <> 'array' THEN 1
      ELSE json_array_length(pair.value) <> 2 OR json_type(pair.value, '$[0]') <> 'text'
        OR json_type(pair.value, '$[1]') <> 'text' END)
  BEGIN SELECT RAISE(ABORT, 'tenure_waiting: headers: expected a JSON array of [name, value], both of them texts'); END;
CREATE TABLE tenure_fired(
  queue TEXT NOT NULL, id TEXT NOT NULL, due INTEGER NOT NULL,
  at INTEGER NOT NULL,          -- when it came to its queue
  PRIMARY KEY(queue, id)) WITHOUT ROWID;
CREATE INDEX tenure_fired_at ON tenure_fired(at);
CREATE TABLE tenure_reader(
  queue TEXT NOT NULL PRIMARY KEY,  -- its name
  election TEXT NOT NULL, path TEXT NOT NULL, ensemble TEXT NOT NULL,
  generation INTEGER NOT NULL, token INTEGER NOT NULL,
  asleep_until INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
)sql",
                        "SELECT 1 FROM tenure_state WHERE key GLOB 'tenure.numbers/*' LIMIT 1",
                        "it holds where groups stand that follow numbers, as an earlier version has written it. Use a "
                        "new file; or let the senders count from 1 again: delete what tenure_state has under keys that "
                        "begin with tenure.numbers/ and, where a sink gives the numbers, what tenure_number and "
                        "tenure_sent have"},
    storage::SchemaStep{5, "ALTER TABLE tenure_attempt ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;\n"},
};

}  // namespace tenure::sqlite
