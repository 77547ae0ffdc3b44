/// The steps that bring tables of an earlier version forward to this one. The text of a step stays as it
/// is when a later version changes the tables again.
#pragma once

#include <array>

#include "storage/schema_steps.hpp"

namespace tenure::postgresql {

inline constexpr std::array steps{
    storage::SchemaStep{
        5, R"sql(
CREATE TABLE tenure_window(
  queue bigint NOT NULL, consumer text NOT NULL,
  front bigint NOT NULL, lanes bigint NOT NULL, ahead bigint NOT NULL,
  PRIMARY KEY(queue, consumer));
CREATE TABLE tenure_streak(
  queue bigint NOT NULL, consumer text NOT NULL,
  deaths bigint NOT NULL, last_reason bytea NOT NULL, first_at bigint NOT NULL, last_at bigint NOT NULL,
  standing bigint NOT NULL,
  PRIMARY KEY(queue, consumer));
CREATE TABLE tenure_clock(
  queue bigint NOT NULL, consumer text NOT NULL,
  of_store bigint NOT NULL,
  wall bigint NOT NULL, boot_id text NOT NULL, since_boot bigint NOT NULL,
  trusted_from bigint NOT NULL,
  PRIMARY KEY(queue, consumer));
INSERT INTO tenure_streak SELECT queue, consumer, attempts, last_error, first_at, last_at, standing
  FROM tenure_attempt WHERE id = 'tenure: dead letters in a row';
INSERT INTO tenure_clock
  SELECT queue, consumer, CASE words[1] WHEN 'store' THEN 1 ELSE 0 END, last_at, words[2], words[3]::bigint, first_at
  FROM (SELECT *, regexp_match(encode(last_error, 'escape'), '^(store|leader) (\S+) (\d+)$') AS words
        FROM tenure_attempt WHERE id = 'tenure: last look at the clock') AS looks
  WHERE words IS NOT NULL;
DELETE FROM tenure_attempt WHERE id IN ('tenure: dead letters in a row', 'tenure: last look at the clock');
INSERT INTO tenure_window
  SELECT queue, left(consumer, -7), words[1]::bigint, words[2]::bigint, words[3]::bigint
  FROM (SELECT *, regexp_match(encode(ids, 'escape'), '^(\d+)\\000(\d+)\\000(\d+)\\000$') AS words
        FROM tenure_in_work WHERE consumer LIKE '%' || chr(31) || 'window') AS windows
  WHERE words IS NOT NULL;
DELETE FROM tenure_in_work WHERE consumer LIKE '%' || chr(31) || 'window';
ALTER TABLE tenure_in_work DROP CONSTRAINT tenure_in_work_pkey,
  ADD COLUMN lane bigint NOT NULL DEFAULT 0,
  ADD COLUMN suspects_of bigint NOT NULL DEFAULT 0, ADD COLUMN narrowed bigint NOT NULL DEFAULT 0;
UPDATE tenure_in_work SET lane = split_part(consumer, chr(31), 2)::bigint, consumer = split_part(consumer, chr(31), 1)
  WHERE consumer ~ ('^[^' || chr(31) || ']*' || chr(31) || '\d+$');
UPDATE tenure_in_work
  SET narrowed = (words[1] IS NOT NULL)::int, suspects_of = words[2]::bigint,
      ids = substr(ids, position('\x00'::bytea IN ids) + 1)
  FROM (SELECT queue AS q, consumer AS c, lane AS l,
          regexp_match(encode(ids, 'escape'), '^' || chr(31) || '(few )?suspects of (\d+)\\000') AS words
        FROM tenure_in_work) AS heads
  WHERE words IS NOT NULL AND (queue, consumer, lane) = (q, c, l);
ALTER TABLE tenure_in_work ADD PRIMARY KEY(queue, consumer, lane);
ALTER TABLE tenure_dead_letter ADD COLUMN missing_from bigint NOT NULL DEFAULT 0,
  ADD COLUMN missing_to bigint NOT NULL DEFAULT 0;
ALTER TABLE tenure_attempt ADD COLUMN begun_by bigint NOT NULL DEFAULT 0,
  ADD COLUMN process_died bigint NOT NULL DEFAULT 0,
  ADD COLUMN postponed bigint NOT NULL DEFAULT 0, ADD COLUMN postponed_since bigint NOT NULL DEFAULT 0;
UPDATE tenure_attempt
  SET begun_by = substring(encode(last_error, 'escape') FROM '^begun by term (\d+),')::bigint, last_error = ''
  WHERE encode(last_error, 'escape') ~ '^begun by term \d+, which has not told how it ended$';
UPDATE tenure_attempt SET process_died = 1 WHERE last_error = 'its process died';
UPDATE tenure_attempt
  SET postponed = substring(encode(last_error, 'escape') FROM '^postponed (\d+) times')::bigint,
      postponed_since = first_at, last_error = substr(last_error, position('\x5a3a20'::bytea IN last_error) + 3)
  WHERE encode(last_error, 'escape') ~ '^postponed \d+ times since \S+Z: ';
ALTER TABLE tenure_message DROP CONSTRAINT IF EXISTS tenure_message_queue_fkey;
CREATE TABLE tenure_turn(
  queue bigint NOT NULL, consumer text NOT NULL, grp bytea NOT NULL,
  position bigint NOT NULL,        -- the last number that is past
  since bigint NOT NULL,           -- when the next one began to be missing
  PRIMARY KEY(queue, consumer, grp))
  WITH (fillfactor = 50);
CREATE TABLE tenure_kept(
  queue bigint NOT NULL, consumer text NOT NULL, grp bytea NOT NULL, number bigint NOT NULL,
  id bytea NOT NULL, digest bytea NOT NULL, body bytea NOT NULL,
  headers bytea NOT NULL,          -- CBOR, which holds any bytes
  enqueued_at bigint NOT NULL, position bigint NOT NULL,
  past bigint NOT NULL,            -- 1: it died before its turn
  PRIMARY KEY(queue, consumer, grp, number));
CREATE TABLE tenure_waiting(
  queue text NOT NULL,             -- its name
  id bytea NOT NULL DEFAULT convert_to(gen_random_uuid()::text, 'UTF8'),
  due bigint NOT NULL DEFAULT 0,   -- 0: at once
  sent_by xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- stands before `added`: it is drawn before that
  added bigint GENERATED ALWAYS AS IDENTITY,
  sent_at bigint NOT NULL DEFAULT floor(extract(epoch FROM clock_timestamp()) * 1000),
  grp bytea NOT NULL DEFAULT '', body bytea NOT NULL,
  headers text,                    -- as those of tenure_message
  numbered bigint NOT NULL DEFAULT 0,  -- 1: gets a number when it comes to its queue
  PRIMARY KEY(queue, id));           -- and what no message can be is refused (send_functions.hpp)
CREATE INDEX tenure_waiting_due ON tenure_waiting(queue, due, added);
CREATE TABLE tenure_fired(
  queue text NOT NULL, id bytea NOT NULL, due bigint NOT NULL,
  at bigint NOT NULL,              -- when it came to its queue
  PRIMARY KEY(queue, id));
CREATE INDEX tenure_fired_at ON tenure_fired(at);
CREATE TABLE tenure_reader(
  queue text PRIMARY KEY,          -- its name
  election text NOT NULL, path text NOT NULL, ensemble text NOT NULL,
  generation bigint NOT NULL, token bigint NOT NULL,
  asleep_until bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 10);
)sql",
        "SELECT 1 FROM tenure_state WHERE substr(key, 1, 15) = 'tenure.numbers/' LIMIT 1",
        "it holds where groups stand that follow numbers, as an earlier version has written it. Use a "
        "new schema; or let the senders count from 1 again: delete what tenure_state has under keys that "
        "begin with tenure.numbers/ and, where a sink gives the numbers, what tenure_number and "
        "tenure_sent have"},
    storage::SchemaStep{6, "ALTER TABLE tenure_attempt ADD COLUMN next_at bigint NOT NULL DEFAULT 0;\n"},
};

}  // namespace tenure::postgresql
