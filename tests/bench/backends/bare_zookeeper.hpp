/// The bare loop on ZooKeeper: the single-threaded C client and poll, one multi a batch.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/zookeeper/paths.hpp"
#include "bench/backends/belt.hpp"
#include "bench/bare.hpp"
#include "storage/driver.hpp"
#include "storage/key_value/encoding.hpp"
#include "tenure/term.hpp"
#include "tenure/zookeeper.hpp"

struct _zhandle;

namespace tenure::bench {

class BareZooKeeper final : public BareStore {
 public:
  BareZooKeeper(const zookeeper::StoreOptions& options, const Term& term, std::shared_ptr<Belt> belt);

  std::vector<Row> fetch(std::size_t max) override;
  /// The effect of a message is the state of its group: its body. An id that is there already fails the multi.
  void commit(std::span<const Row> rows, bool ofOwnQueue) override;

 private:
  struct Part;  // of a multi
  std::string pathOf(storage::Table table, const storage::Row& row) const;
  void add(std::vector<Part>& parts, const std::string& path, std::string value);
  void send(std::vector<Part>& parts);
  /// Serves the connection until `done`.
  void pumpUntil(const bool& done);

  std::unique_ptr<_zhandle, int (*)(_zhandle*)> handle_;
  const Term& term_;
  std::shared_ptr<Belt> belt_;
  zookeeper::Paths paths_;
  storage::Fence fence_;
  storage::FenceText fenceText_;
  std::map<std::string, int> versions_;  // of what was written before
};

}  // namespace tenure::bench
