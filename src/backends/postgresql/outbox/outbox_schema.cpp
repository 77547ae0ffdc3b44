// The table that `tenure schema print --outbox` shows: its columns are those that OutboxTable has by itself.
#include "backends/postgresql/session/identifiers.hpp"
#include "base/text.hpp"
#include "tenure/postgresql.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::string_view outboxColumns = R"sql((
  id text PRIMARY KEY DEFAULT gen_random_uuid()::text,
  position bigint GENERATED ALWAYS AS IDENTITY,  -- rows are sent in this order
  group_key text,                   -- those of one group one after the other
  body text NOT NULL,               -- may as well be bytea, json or jsonb
  headers jsonb CHECK (jsonb_typeof(headers) = 'object'),
  exchange text,                    -- to this one, where a row names one
  routing_key text,
  number bigint,                    -- 1, 2, 3 ... within its group, where receivers follow numbers
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'sent', 'dead')),
  attempts integer NOT NULL DEFAULT 0,
  failure text,                     -- why the last attempt failed
  next_at timestamptz,              -- when the leader tries again; NULL: no attempt is due
  send_at timestamptz,              -- not before
  sent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now());
)sql";

constexpr std::string_view outboxTrigger = R"sql(
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.status = 'waiting' AND (NEW.send_at IS NULL OR NEW.send_at < clock_timestamp() + interval '2 seconds'))
  EXECUTE FUNCTION tenure_wake_outbox();
)sql";

}  // namespace

Result<std::string> outboxSql(std::string_view name) {
  const auto parts = parseName(name);
  if (!parts) return parts.error();
  if (parts->size() > 2)
    return Error{Errc::invalidArgument, "\"" + escaped(name) + "\": expected a table, or a schema and a table"};
  const std::string table = (parts->size() == 1 ? "" : quotedName(parts->front()) + ".") + quotedName(parts->back());
  return "BEGIN;\nCREATE TABLE " + table + std::string(outboxColumns) + "CREATE INDEX ON " + table +
         "(position, id) WHERE status = 'waiting';\nCREATE INDEX ON " + table +
         "(send_at) WHERE status = 'waiting' AND send_at IS NOT NULL;\nCREATE INDEX ON " + table +
         "(sent_at) WHERE status = 'sent';\nCREATE CONSTRAINT TRIGGER tenure_wake_outbox AFTER INSERT OR UPDATE OF "
         "status, send_at ON " +
         table + std::string(outboxTrigger) + "COMMIT;\n";
}

}  // namespace tenure::postgresql
