/// Replicas of one consumer on a real ensemble, with their queue and ledger in one file.
#pragma once

#include <deque>
#include <string>

#include "support/ledger.hpp"
#include "support/program.hpp"

namespace tenure::test {

class Replicas {
 public:
  explicit Replicas(std::string hosts);

  std::filesystem::path file() const { return folder_ / "orders.db"; }
  std::filesystem::path pathTo(const std::string& name) const { return folder_ / name; }

  /// Starts one more replica; `extra` as ledger_replica takes them.
  Program& start(Program::Arguments extra = {});
  /// The replica whose term began last.
  Program& leader();
  /// True once `count` terms have begun in all replicas together.
  bool awaitTerms(std::size_t count);
  bool awaitRows(std::size_t count) const;
  std::string logs() const;

 private:
  TemporaryFolder folder_;
  std::string hosts_;
  std::string election_;
  std::deque<Program> replicas_;
};

}  // namespace tenure::test
