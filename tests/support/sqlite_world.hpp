/// One SQLite file and the replicas on it.
#pragma once

#include <sqlite3.h>

#include <filesystem>
#include <string>

#include "support/backends.hpp"
#include "support/program.hpp"
#include "tenure/spi/source.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {

class SqliteWorld final : public BackendWorld {
 public:
  Replica open(IEventSink& events = noEvents()) override;
  std::unique_ptr<IMessageSink> sink() override;
  std::shared_ptr<IMessageSource> queue(const std::string& name) override;
  std::unique_ptr<IDatabaseAdmin> admin() override { return sqlite::openAdmin(options()); }
  std::unique_ptr<IStoreAdmin> adminOf(const QueueIdentity& elsewhere) override {
    sqlite::Options served = options();
    served.elsewhere = elsewhere;
    return sqlite::openAdmin(served);
  }
  std::unique_ptr<ScheduledMessages> scheduled() override { return sqlite::openScheduled(options()); }
  void beImpatient() override { lockLimit_ = std::chrono::milliseconds{50}; }
  void dropFence(const std::string& election) override;

  sqlite::Options options() const;
  /// Runs SQL behind Tenure's back, on a connection of its own; fails the test where it fails.
  void meddle(const std::string& sql) const;
  /// The first column of the first row, as text; "none" without a row, "null" for a NULL.
  std::string ask(const std::string& sql) const;

 private:
  TemporaryFolder folder_;
  std::chrono::milliseconds lockLimit_{10'000};
};

}  // namespace tenure::test
