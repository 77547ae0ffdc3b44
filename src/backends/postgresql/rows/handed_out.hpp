/// The rows of a user's table that its source has handed out and that are not acknowledged yet, and the marks that an
/// acknowledging commit sets on them. A row is known by its message's position, which is never given twice.
///
/// Beside the table's rows there are skips (skipHeader): they wait among the queue's own messages.
///
/// Threads: any; the source's, and those of the lanes.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/postgresql/rows/outbox_rows.hpp"
#include "storage/write_set.hpp"

namespace tenure::postgresql {

class HandedOut {
 public:
  /// An attachment to this queue begins: nothing is handed out.
  void begin(OutboxRows rows, std::int64_t queue);
  /// The attachment is over. Its rows may be handed out again; a commit that is under way still marks them.
  void end();

  /// The position of the row with this id, which is handed out from now on.
  std::int64_t add(const std::string& id) { return addPlace(id); }
  std::vector<std::string> ids() const { return placesOf<std::string>(); }
  /// The same of a skip, by its place in the queue.
  std::int64_t addSkip(std::int64_t place) { return addPlace(place); }
  std::vector<std::int64_t> skips() const { return placesOf<std::int64_t>(); }

  /// What marks the rows of acknowledged messages, and shows the attempts of others.
  struct Marks {
    std::vector<Command> commands;
    std::size_t ofTable = 0;        // the number of commands that write to the user's table: they come first
    std::size_t ofRows = 0;         // of those, the ones that mark rows; the command that shows attempts follows
    std::vector<std::string> rows;  // ids of the marked rows
    std::vector<std::string> died;  // ids of the dead rows among them, marked last
    std::vector<std::string> shown;
    std::vector<std::int64_t> positions;
    std::size_t shape = 0;  // the version of the table's shape they were made for
  };
  Marks marksFor(const storage::WriteSet& writes) const;
  /// The same for messages that are acknowledged without a transaction of their store.
  Marks marksFor(std::span<const std::int64_t> positions) const;
  /// A command of these was refused. True: it was the word of a failure, which people see in the row, and from now on
  /// the row gets none: the commit can be tried again. A dead row that waits like this is known by its dead letter, and
  /// not delivered again.
  bool leaveAsItIs(const Marks& marks, std::size_t command);
  /// A command of these waited too long for a lock. True: it was the word of an attempt, which is left out once.
  bool leaveOutOnce(const Marks& marks, std::size_t command);
  /// Rows that a former term has left so.
  void leaveAsTheyAre(const std::vector<std::string>& ids);
  /// Whether such a failure may come from a change of the table.
  static bool mayHaveChanged(std::string_view sqlState) noexcept {
    return sqlState.starts_with("42") || sqlState.starts_with("22");
  }
  /// The table as it is now. False: the marks were made for it.
  bool renew(OutboxRows rows, std::size_t shapeOfMarks = 0);
  /// The marks' commit has landed, and has changed `changed` rows. A row that is gone is no failure.
  ///
  /// Errors:  configurationRefused   a row waits as before, and would be delivered again and again
  Result<void> committed(Connection& connection, const Marks& marks, std::int64_t changed);
  /// The same; the answers begin with those to the marks' commands.
  Result<void> committed(Connection& connection, const Marks& marks, const Answer* answers);

 private:
  using Place = std::variant<std::string, std::int64_t>;  // a row's id, or a skip's place

  /// Sorted by what they are. Those of other positions are left out.
  struct Places {
    std::vector<std::string> rows;
    std::vector<std::int64_t> skips;
  };
  Places find(std::span<const std::int64_t> positions) const;
  /// Whether a row of this id is handed out; a skip's id is none.
  bool isRow(const std::string& id) const;
  std::int64_t addPlace(Place place);
  template <class Kind>
  std::vector<Kind> placesOf() const {
    const std::lock_guard lock(mutex_);
    std::vector<Kind> places;
    for (const auto& [position, place] : handedOut_)
      if (const auto* known = std::get_if<Kind>(&place)) places.push_back(*known);
    return places;
  }

  mutable std::mutex mutex_;
  std::optional<OutboxRows> rows_;
  std::int64_t last_ = 0;
  std::int64_t queue_ = 0;
  std::map<std::int64_t, Place> handedOut_;  // by position
  std::map<std::int64_t, Place> former_;     // handed out by the attachment before
  std::size_t shape_ = 0;                    // counts the changes of the table
  // Ids of rows that take no mark of their death, that take no word of an attempt, and that get none this time.
  std::set<std::string> takeNoMark_;
  std::set<std::string> takeNoWord_;
  std::set<std::string> notNow_;
};

}  // namespace tenure::postgresql
