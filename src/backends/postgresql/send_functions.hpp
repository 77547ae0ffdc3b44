/// The functions that another program's transaction calls to send a message or to take one back (docs/guides/send.md).
/// A message goes to the waiting room, so it takes no counter and waits for no other sender; the leader gives it its
/// place.
///
/// The functions run with the rights of the tables' owner, and look names up in the tables' schema alone. `tenure
/// schema apply` replaces those of another version.
#pragma once

#include <string_view>

namespace tenure::postgresql {

inline constexpr std::string_view sendFunctions = R"sql(
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);
CREATE OR REPLACE FUNCTION tenure_time_text(due bigint) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE due WHEN 0 THEN 'at once'
    ELSE to_char(to_timestamp(due / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END
$$;
CREATE OR REPLACE FUNCTION tenure_send(queue text, body bytea, id text DEFAULT NULL, grp text DEFAULT NULL,
  headers jsonb DEFAULT NULL, deliver_at timestamptz DEFAULT NULL) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $send$
DECLARE
  wall CONSTANT bigint := floor(extract(epoch FROM clock_timestamp()) * 1000);
  sent_id CONSTANT text := coalesce(tenure_send.id, gen_random_uuid()::text);
  sent_group CONSTANT bytea := convert_to(coalesce(tenure_send.grp, ''), 'UTF8');
  asked bigint := 0;
  sent_due bigint;
  pairs json;
  there tenure_waiting;
  came tenure_fired;
BEGIN
  IF tenure_send.queue IS NULL OR tenure_send.body IS NULL THEN
    RAISE EXCEPTION 'tenure_send: expected a queue and a body, not null' USING ERRCODE = '22004';
  END IF;
  IF deliver_at IS NOT NULL THEN
    IF NOT isfinite(deliver_at) OR deliver_at > clock_timestamp() + interval '3650 days' THEN
      RAISE EXCEPTION 'tenure_send: message "%" is for %: expected a time of at most ten years ahead', sent_id,
        deliver_at USING ERRCODE = '22023';
    END IF;
    asked := greatest(floor(extract(epoch FROM deliver_at) * 1000), 0);
  END IF;
  sent_due := CASE WHEN deliver_at IS NULL THEN 0 ELSE greatest(asked, wall) END;
  IF jsonb_typeof(tenure_send.headers) = 'object' THEN
    SELECT json_agg(json_build_array(key, value)) INTO pairs FROM jsonb_each(tenure_send.headers);
  ELSE
    pairs := nullif(tenure_send.headers, '[]');
  END IF;
  IF sent_due <> 0 AND jsonb_path_exists(pairs::jsonb, '$[*] ? (@[0] == "tenure-number")') THEN
    RAISE EXCEPTION 'tenure_send: message "%" has a header "tenure-number", so it can have no time', sent_id
      USING ERRCODE = '22023';
  END IF;
  LOOP
    INSERT INTO tenure_waiting(queue, id, due, grp, body, headers)
      VALUES (tenure_send.queue, convert_to(sent_id, 'UTF8'), sent_due, sent_group, tenure_send.body, pairs::text)
      ON CONFLICT DO NOTHING;
    EXIT WHEN FOUND;
    SELECT * INTO there FROM tenure_waiting AS w
      WHERE w.queue = tenure_send.queue AND w.id = convert_to(sent_id, 'UTF8');
    CONTINUE WHEN NOT FOUND;
    IF there.body = tenure_send.body AND there.grp = sent_group AND (there.due = sent_due
        OR (there.due <= wall AND sent_due <= wall))
        AND coalesce(nullif(there.headers, ''), '[]')::jsonb = coalesce(pairs, '[]')::jsonb THEN
      RETURN sent_id;
    END IF;
    RAISE EXCEPTION 'tenure_send: message "%" waits in queue "%" already, for %, with other content or another time; '
      'this one is for %', sent_id, tenure_send.queue, tenure_time_text(there.due), tenure_time_text(sent_due)
      USING ERRCODE = 'TN001';
  END LOOP;
  -- Now no other transaction brings a message of this id to the queue: what came before can be seen.
  IF deliver_at IS NOT NULL THEN
    SELECT * INTO came FROM tenure_fired AS f
      WHERE f.queue = tenure_send.queue AND f.id = convert_to(sent_id, 'UTF8');
    IF FOUND AND asked > came.due THEN
      RAISE EXCEPTION 'tenure_send: message "%" was due at % and came to queue "%" at %; this one is for %', sent_id,
        tenure_time_text(came.due), tenure_send.queue, tenure_time_text(came.at), tenure_time_text(asked)
        USING ERRCODE = 'TN002';
    ELSIF FOUND THEN
      DELETE FROM tenure_waiting AS w WHERE w.queue = tenure_send.queue AND w.id = convert_to(sent_id, 'UTF8');
      RETURN sent_id;
    END IF;
  END IF;
  PERFORM pg_notify('tenure_' || 'tenure_message'::regclass::oid::bigint || '_' || q.number, 'due')
    FROM tenure_reader AS r JOIN tenure_queue AS q ON q.name = r.queue AND NOT q.elsewhere
    WHERE r.queue = tenure_send.queue AND greatest(wall, sent_due) < r.asleep_until;
  RETURN sent_id;
END $send$;

CREATE OR REPLACE FUNCTION tenure_send(queue text, body text, id text DEFAULT NULL, grp text DEFAULT NULL,
  headers jsonb DEFAULT NULL, deliver_at timestamptz DEFAULT NULL) RETURNS text
  LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $send$
  SELECT tenure_send($1, convert_to($2, 'UTF8'), $3, $4, $5, $6)
$send$;

CREATE OR REPLACE FUNCTION tenure_cancel(queue text, id text) RETURNS text
  LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $cancel$
BEGIN
  DELETE FROM tenure_waiting AS w
    WHERE w.queue = tenure_cancel.queue AND w.id = convert_to(tenure_cancel.id, 'UTF8');
  IF FOUND THEN RETURN 'cancelled'; END IF;
  PERFORM FROM tenure_fired AS f
    WHERE f.queue = tenure_cancel.queue AND f.id = convert_to(tenure_cancel.id, 'UTF8');
  RETURN CASE WHEN FOUND THEN 'fired' ELSE 'unknown' END;
END $cancel$;

REVOKE ALL ON FUNCTION tenure_send(text, bytea, text, text, jsonb, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure_send(text, text, text, text, jsonb, timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION tenure_cancel(text, text) FROM PUBLIC;
)sql";

}  // namespace tenure::postgresql
