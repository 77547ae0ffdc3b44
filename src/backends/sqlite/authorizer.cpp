#include "backends/sqlite/authorizer.hpp"

#include <sqlite3.h>
#include <strings.h>

#include <string_view>

namespace tenure::sqlite {
namespace {

bool isOurs(const char* table) noexcept {
  constexpr std::string_view prefix = "tenure_";
  return table != nullptr && strncasecmp(table, prefix.data(), prefix.size()) == 0;
}

}  // namespace

int authorize(void* userMode, int action, const char* first, const char* second, const char*, const char*) noexcept {
  if (!*static_cast<const bool*>(userMode)) return SQLITE_OK;
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_PRAGMA: return SQLITE_DENY;
    // The table is the first argument here …
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_CREATE_TABLE:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_VTABLE: return isOurs(first) ? SQLITE_DENY : SQLITE_OK;
    // … and the second here, after the name of an index, a trigger or a database.
    case SQLITE_ALTER_TABLE:
    case SQLITE_CREATE_INDEX:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_CREATE_TEMP_TRIGGER:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER: return isOurs(second) ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_OK;
  }
}

}  // namespace tenure::sqlite
