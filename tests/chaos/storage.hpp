/// Where queue and ledger are in a chaos run, and how its programs find them.
///
///   sqlite                  queue and ledger in one file
///   postgresql              queue and ledger in one database of a server
///   rabbitmq+postgresql     the queue at a broker, the ledger in a database: acknowledged after the commit
///
/// Each replica has a way of its own to each server, which a fault may cut.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "history/line.hpp"
#include "support/program.hpp"

namespace tenure::chaos {

enum class StorageKind { sqlite, postgresql, rabbitmqAndPostgresql };
std::optional<StorageKind> storageNamed(std::string_view name) noexcept;

class Database;
class Broker;

class IStorage {
 public:
  virtual ~IStorage() = default;

  /// Words for a replica's command line, and for the producer's: see programs/ends.hpp.
  virtual test::Program::Arguments wordsFor(std::size_t replica) const = 0;
  virtual test::Program::Arguments wordsForProducer() const = 0;
  virtual test::Program::Arguments environment() const { return {}; }
  /// Nullptr where there is none.
  virtual Database* database() noexcept { return nullptr; }
  virtual Broker* broker() noexcept { return nullptr; }

  /// No message is left that waits or is in somebody's hands.
  virtual bool isEmpty() = 0;
  virtual std::vector<history::Row> ledger() = 0;
  /// Every way passes everything again.
  virtual void heal() {}
  /// What must not be read in any log.
  virtual std::vector<std::string> secrets() const { return {}; }
  /// Name and contents.
  virtual std::vector<std::pair<std::string, std::string>> logs() const { return {}; }
};

/// `folder` is where what it makes is kept, of `page` see programs/fault_page.hpp. Its ledger is there and empty.
std::unique_ptr<IStorage> makeStorage(StorageKind kind, const std::filesystem::path& folder,
                                      const std::filesystem::path& page);

}  // namespace tenure::chaos
