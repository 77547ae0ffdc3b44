/// The functions that another program's transaction calls to send a message or to take one back (docs/guides/send.md).
/// A message goes to the waiting room, so it takes no counter and waits for no other sender; the leader gives it its
/// place.
///
/// The functions run with the rights of the tables' owner, and look names up in the tables' schema alone. Functions of
/// PostgreSQL are named with their schema: one of the same name in the tables' schema might fit better. `tenure
/// schema apply` replaces those of another version. Beside them stand the triggers of the waiting room: what no message
/// can be is refused, and a reader that sleeps is woken.
#pragma once

#include <string_view>

namespace tenure::postgresql {

inline constexpr std::string_view sendFunctions = R"sql(
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
SET LOCAL client_min_messages = warning;
-- Not CHECK constraints: PostgreSQL plans those anew with each statement, which doubles what an insert costs.
CREATE OR REPLACE FUNCTION tenure_check_waiting() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  sent bigint := CASE WHEN NEW.due > 0 THEN floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint END;
  wrong text := CASE
    WHEN NEW.queue !~ '^[A-Za-z0-9._-]{1,64}$' OR NEW.queue IN ('.', '..', 'zookeeper')
      THEN 'queue: expected 1 to 64 characters of a-z A-Z 0-9 . _ -'
    WHEN octet_length(NEW.id) NOT BETWEEN 1 AND 255 OR position(pg_catalog.decode('00', 'hex') IN NEW.id) > 0
      THEN 'id: expected 1 to 255 bytes without a NUL'
    WHEN octet_length(NEW.grp) > 255 OR position(pg_catalog.decode('00', 'hex') IN NEW.grp) > 0
      THEN 'grp: expected at most 255 bytes without a NUL'
    WHEN octet_length(NEW.body) > 1048576 THEN 'body: expected at most 1 MiB'
    WHEN octet_length(NEW.headers) > 131072 THEN 'headers: expected at most 128 KiB'
    WHEN NEW.due < 0 OR NEW.due > 0 AND NEW.due > sent + 315360000000
      THEN 'due: expected 0 for at once, or milliseconds since 1970, at most ten years ahead'
    WHEN NEW.numbered NOT IN (0, 1) THEN 'numbered: expected 0 or 1' END;
BEGIN
  IF wrong IS NULL AND NEW.headers <> '' THEN
    IF json_typeof(NEW.headers::json) <> 'array' OR EXISTS (
      SELECT FROM json_array_elements(NEW.headers::json) AS pair
      WHERE CASE WHEN json_typeof(pair) <> 'array' THEN true
        ELSE json_array_length(pair) <> 2 OR json_typeof(pair->0) <> 'string' OR json_typeof(pair->1) <> 'string' END)
    THEN
      wrong := 'headers: expected a JSON array of [name, value], both of them texts';
    END IF;
  END IF;
  IF wrong IS NOT NULL THEN
    RAISE EXCEPTION 'tenure_waiting: %', wrong USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME,
      COLUMN = split_part(wrong, ':', 1);
  END IF;
  -- A look at messages with a time begins a minute ago.
  IF TG_OP = 'INSERT' AND NEW.due > 0 AND NEW.due < sent THEN NEW.due := sent; END IF;
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER tenure_check_waiting BEFORE INSERT OR UPDATE ON tenure_waiting
  FOR EACH ROW EXECUTE FUNCTION tenure_check_waiting();

-- One of the transactions that commit at the same time notifies, as PostgreSQL lets those that do commit one after the
-- other. The reader, woken, looks again soon, and finds the others' messages. Its callers have chosen the search path.
CREATE OR REPLACE FUNCTION tenure_wake(reader text, due bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  number bigint;
BEGIN
  PERFORM FROM tenure_reader AS r WHERE r.queue = tenure_wake.reader
    AND greatest(pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000::numeric)::bigint,
      tenure_wake.due) < r.asleep_until;
  IF FOUND THEN
    SELECT q.number INTO number FROM tenure_queue AS q WHERE q.name = tenure_wake.reader AND NOT q.elsewhere;
    IF FOUND AND pg_catalog.pg_try_advisory_xact_lock('tenure_reader'::regclass::oid::int,
      pg_catalog.hashint8(number)) THEN
      PERFORM pg_catalog.pg_notify(
        'tenure_' || 'tenure_message'::regclass::oid::bigint::text || '_' || number::text, 'due');
    END IF;
  END IF;
END $$;
-- Runs as its transaction commits.
CREATE OR REPLACE FUNCTION tenure_wake_reader() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM tenure_wake(NEW.queue, NEW.due);
  RETURN NULL;
END $$;
DROP TRIGGER IF EXISTS tenure_wake_reader ON tenure_waiting;
CREATE CONSTRAINT TRIGGER tenure_wake_reader AFTER INSERT ON tenure_waiting DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.due < NEW.sent_at + 2000) EXECUTE FUNCTION tenure_wake_reader();

-- For a table that is a queue itself: the queue has the table's name, or, for the partitions of a
-- table, the one that the trigger gives.
CREATE OR REPLACE FUNCTION tenure_wake_outbox() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $$
BEGIN
  PERFORM tenure_wake(coalesce(TG_ARGV[0], (
    SELECT pg_catalog.string_agg(CASE WHEN part ~ '^[a-z_][a-z0-9_$]*$' THEN part
        ELSE '"' || pg_catalog.replace(part, '"', '""') || '"' END, '.' ORDER BY place)
      FROM ROWS FROM (pg_catalog.unnest(ARRAY[TG_TABLE_SCHEMA::text, TG_TABLE_NAME::text])) WITH ORDINALITY
        AS name(part, place))), 0);
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION tenure_time_text(due bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE due WHEN 0 THEN 'at once'
    ELSE pg_catalog.to_char(pg_catalog.to_timestamp((due::numeric / 1000.0)::double precision) AT TIME ZONE 'UTC',
      'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END
$$;
CREATE OR REPLACE FUNCTION tenure_send(queue text, body bytea, id text DEFAULT NULL, grp text DEFAULT NULL,
  headers jsonb DEFAULT NULL, deliver_at timestamptz DEFAULT NULL) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $send$
DECLARE
  sent_id CONSTANT text := coalesce(tenure_send.id, pg_catalog.gen_random_uuid()::text);
  sent_group CONSTANT bytea := pg_catalog.convert_to(coalesce(tenure_send.grp, ''), 'UTF8');
  now CONSTANT bigint := pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000::numeric)::bigint;
  asked bigint := 0;
  sent_due bigint := 0;  -- at once
  pairs json;
BEGIN
  IF tenure_send.queue IS NULL OR tenure_send.body IS NULL THEN
    RAISE EXCEPTION 'tenure_send: expected a queue and a body, not null' USING ERRCODE = '22004';
  END IF;
  IF tenure_send.headers IS NOT NULL THEN
    IF pg_catalog.jsonb_typeof(tenure_send.headers) = 'object' THEN
      SELECT pg_catalog.json_agg(pg_catalog.json_build_array(key, value)) INTO pairs
        FROM pg_catalog.jsonb_each(tenure_send.headers);
    ELSE
      pairs := nullif(tenure_send.headers, '[]');
    END IF;
  END IF;
  IF deliver_at IS NOT NULL THEN
    IF NOT pg_catalog.isfinite(deliver_at) OR deliver_at > pg_catalog.clock_timestamp() + interval '3650 days' THEN
      RAISE EXCEPTION 'tenure_send: message "%" is for %: expected a time of at most ten years ahead', sent_id,
        deliver_at USING ERRCODE = '22023';
    END IF;
    IF pg_catalog.jsonb_path_exists(pairs::jsonb, '$[*] ? (@[0] == "tenure-number")') THEN
      RAISE EXCEPTION 'tenure_send: message "%" has a header "tenure-number", so it can have no time', sent_id
        USING ERRCODE = '22023';
    END IF;
    asked := greatest(pg_catalog.floor(extract(epoch FROM deliver_at) * 1000::numeric)::bigint, 0::bigint);
    sent_due := greatest(asked, now);
  END IF;
  LOOP
    INSERT INTO tenure_waiting(queue, id, due, grp, body, headers)
      VALUES (tenure_send.queue, pg_catalog.convert_to(sent_id, 'UTF8'), sent_due, sent_group, tenure_send.body,
        pairs::text)
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    DECLARE
      there tenure_waiting;
    BEGIN
      SELECT * INTO there FROM tenure_waiting AS w
        WHERE w.queue = tenure_send.queue AND w.id = pg_catalog.convert_to(sent_id, 'UTF8');
      CONTINUE WHEN NOT FOUND;
      IF there.body = tenure_send.body AND there.grp = sent_group AND (there.due = sent_due
          OR (there.due <= now AND sent_due <= now))
          AND coalesce(nullif(there.headers, ''), '[]')::jsonb = coalesce(pairs, '[]')::jsonb THEN
        RETURN sent_id;
      END IF;
      RAISE EXCEPTION 'tenure_send: message "%" waits in queue "%" already, for %, with other content or another time; '
        'this one is for %', sent_id, tenure_send.queue, tenure_time_text(there.due), tenure_time_text(sent_due)
        USING ERRCODE = 'TN001';
    END;
  END LOOP;
  IF deliver_at IS NULL THEN RETURN sent_id; END IF;
  -- Now no other transaction brings a message of this id to the queue: what came before can be seen.
  DECLARE
    came tenure_fired;
  BEGIN
    SELECT * INTO came FROM tenure_fired AS f
      WHERE f.queue = tenure_send.queue AND f.id = pg_catalog.convert_to(sent_id, 'UTF8');
    IF FOUND AND asked > came.due THEN
      RAISE EXCEPTION 'tenure_send: message "%" was due at % and came to queue "%" at %; this one is for %', sent_id,
        tenure_time_text(came.due), tenure_send.queue, tenure_time_text(came.at), tenure_time_text(asked)
        USING ERRCODE = 'TN002';
    ELSIF FOUND THEN
      DELETE FROM tenure_waiting AS w WHERE w.queue = tenure_send.queue AND w.id = pg_catalog.convert_to(sent_id, 'UTF8');
    END IF;
    RETURN sent_id;
  END;
END $send$;

CREATE OR REPLACE FUNCTION tenure_send(queue text, body text, id text DEFAULT NULL, grp text DEFAULT NULL,
  headers jsonb DEFAULT NULL, deliver_at timestamptz DEFAULT NULL) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $send$
BEGIN
  RETURN tenure_send($1, pg_catalog.convert_to($2, 'UTF8'), $3, $4, $5, $6);
END $send$;

CREATE OR REPLACE FUNCTION tenure_cancel(queue text, id text) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $cancel$
BEGIN
  DELETE FROM tenure_waiting AS w
    WHERE w.queue = tenure_cancel.queue AND w.id = pg_catalog.convert_to(tenure_cancel.id, 'UTF8');
  IF FOUND THEN RETURN 'cancelled'; END IF;
  PERFORM FROM tenure_fired AS f
    WHERE f.queue = tenure_cancel.queue AND f.id = pg_catalog.convert_to(tenure_cancel.id, 'UTF8');
  RETURN CASE WHEN FOUND THEN 'fired' ELSE 'unknown' END;
END $cancel$;

REVOKE ALL ON FUNCTION tenure_send(text, bytea, text, text, jsonb, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure_send(text, text, text, text, jsonb, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure_cancel(text, text) FROM PUBLIC;
)sql";

}  // namespace tenure::postgresql
