/// What a user's own SQL may not do inside the fenced transaction: end it, reach other files, change how the file is
/// kept, or write Tenure's own tables. SQLite asks when it compiles a statement, triggers included.
#pragma once

namespace tenure::sqlite {

/// For sqlite3_set_authorizer; `userMode` is a bool* that says whose statement is being compiled.
int authorize(void* userMode, int action, const char* first, const char* second, const char* database,
              const char* trigger) noexcept;

}  // namespace tenure::sqlite
