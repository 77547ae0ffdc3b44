/// A batch as the parts of one multi, by what is known of its znodes. Pure.
///
/// An expected value is checked by its znode's version. So is a value that is overwritten whatever it was: under our
/// fence no other process writes there, and if one did, nothing is written. A znode that is expected to be absent is
/// made, which needs no look. A folder comes with the first of its names; one of the log goes with the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/zookeeper/paths.hpp"
#include "coordination/coordination.hpp"

namespace tenure::zookeeper {

// What is known of znodes: as they were last read, or as a batch of our own has left them, until something says that
// this may be wrong. Bounded; what is forgotten is read again. Pure.

/// A znode as it was read; no value: it is absent.
struct Cell {
  std::optional<std::string> value;
  std::int32_t version = 0;
  std::int32_t children = 0;
};

class Cells {
 public:
  /// Nullptr: not known.
  const Cell* find(std::string_view path) const;
  void keep(const std::string& path, Cell cell);
  /// Forgets all where it has become too much. Nothing is lost before.
  void trim() noexcept;
  void clear() noexcept;

 private:
  std::map<std::string, Cell, std::less<>> cells_;
  std::size_t bytes_ = 0;
};

struct Known {
  Cells lasting;  // what only the term changes
  Cells passing;  // until the next batch

  const Cell* find(std::string_view path) const {
    const Cell* found = lasting.find(path);
    return found == nullptr ? passing.find(path) : found;
  }
  /// For the next batch.
  void renew(const std::string& path, Cell cell) {
    (lasting.find(path) == nullptr ? passing : lasting).keep(path, std::move(cell));
  }
  void trim() noexcept {
    lasting.trim();
    passing.trim();
  }
  void clear() noexcept {
    lasting.clear();
    passing.clear();
  }
};

/// Versions of znodes whose values were told without being asked for.
using Trusted = std::map<std::string, std::int32_t, std::less<>>;

class Parts {
 public:
  /// The write that a part belongs to, where it belongs to none.
  static constexpr std::size_t candidacy = SIZE_MAX;

  /// `own` is the candidacy that has to be there, behind the first write; empty for none.
  Parts(const Paths& paths, const Known& known, std::span<const spi::Write> writes, const std::string& own,
        const Trusted& trusted);

  /// What has to be known first.
  static std::vector<std::string> unknown(const Paths& paths, const Known& known, std::span<const spi::Write> writes);

  /// The write that cannot be met, by what is known.
  const std::optional<std::size_t>& unmet() const noexcept { return unmet_; }
  /// How much of the servers' limit they take, their paths included.
  std::size_t bytes() const noexcept;
  std::vector<MultiOp> takeOps() noexcept { return std::move(ops_); }
  /// The index of the part's write: `candidacy` for its check, the number of writes for checks of trusted values.
  std::size_t writeOf(std::size_t part) const { return whose_.at(part); }
  /// As it leaves what lasts.
  std::map<std::string, Cell, std::less<>>& after() noexcept { return after_; }

 private:
  void add(const spi::Write& write, std::size_t place);
  void make(const spi::Write& write, const std::string& path, std::size_t place);
  void change(const spi::Write& write, const std::string& path, const Cell& cell, std::size_t place);
  void makeFolder(const spi::Name& name, std::size_t place);
  void removeFolders(std::size_t place);
  void add(MultiOp op, std::size_t place);

  const Paths& paths_;
  const Known& known_;
  const Trusted& trusted_;
  std::vector<MultiOp> ops_;
  std::vector<std::size_t> whose_;
  std::map<std::string, Cell, std::less<>> after_;
  std::map<std::string, std::int32_t, std::less<>> fewer_;  // names in folders of the log
  std::optional<std::size_t> unmet_;
};

/// Whether it is known beyond the next batch: no operator changes it, and it comes more than once.
bool lasts(spi::Table table) noexcept;

}  // namespace tenure::zookeeper
