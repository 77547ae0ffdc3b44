#include "bench/backends/bare_zookeeper.hpp"

#include <poll.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <cstdio>

#include "base/assert.hpp"
#include "base/random.hpp"
#include "storage/records.hpp"

namespace tenure::bench {
namespace {

using storage::Table;

constexpr int overlookedMs = 100;

}  // namespace

struct BareZooKeeper::Part {
  std::string path;
  std::string value;
  int version;  // -1: it is made
};

BareZooKeeper::BareZooKeeper(const zookeeper::StoreOptions& options, const Term& term, std::shared_ptr<Belt> belt)
    : handle_(nullptr, &zookeeper_close), term_(term), belt_(std::move(belt)), paths_(options.root, options.name) {
  bool connected = false;
  const auto onEvent = [](zhandle_t*, int, int state, const char*, void* context) {
    if (state == ZOO_CONNECTED_STATE) *static_cast<bool*>(context) = true;
  };
  handle_.reset(zookeeper_init(options.zookeeper.hosts.c_str(), onEvent, 60'000, nullptr, &connected, 0));
  pumpUntil(connected);
  zoo_set_servers_resolution_delay(handle_.get(), -1);

  struct Found {
    std::string text;
    int version = 0;
    bool done = false;
  } found;
  const auto onNode = [](int rc, const char* value, int length, const Stat* stat, const void* context) {
    TENURE_ASSERT(rc == ZOK);
    auto& answer = *const_cast<Found*>(static_cast<const Found*>(context));
    answer = {std::string(value, static_cast<std::size_t>(length)), stat->version, true};
  };
  TENURE_ASSERT(zoo_aget(handle_.get(), paths_.fence.c_str(), 0, onNode, &found) == ZOK);
  pumpUntil(found.done);
  const storage::FenceFound fence = storage::fenceFrom(found.text, std::nullopt);
  fence_ = {fence.stored.front().row, fence.change};
  versions_[paths_.fence] = found.version;
}

std::vector<Row> BareZooKeeper::fetch(std::size_t max) {
  std::vector<Row> rows;
  for (Message& message : *belt_->fetch(max, {}, {}))
    rows.push_back({message.position,
                    std::move(message.id.value),
                    std::move(message.group.value),
                    std::move(message.body),
                    {},
                    message.enqueuedAt.time_since_epoch().count()});
  return rows;
}

void BareZooKeeper::commit(std::span<const Row> rows, bool) {
  const ConsumerName consumer{term_.identity().election.value};
  std::vector<Part> parts;
  parts.reserve(2 * rows.size() + 2);
  ++fence_.row.sequence;
  fence_.change = freshUuid();
  add(parts, paths_.fence, fenceText_.of(fence_));
  std::vector<MessageId> ids;
  std::map<std::string_view, std::string_view> states;
  for (const Row& row : rows) {
    const MessageId& id = ids.emplace_back(MessageId{row.id});
    const storage::Row key = storage::keyRow(consumer, id, MessageFate::done, digestOf(row.body), term_.token(),
                                             storage::wallTimeOf(row.enqueuedAt));
    parts.push_back({pathOf(Table::key, key), storage::textOf(Table::key, key), -1});
    states[row.group] = row.body;
  }
  for (const auto& [group, body] : states) {
    const storage::Row state{std::string(group), std::string(body)};
    add(parts, pathOf(Table::state, state), storage::textOf(Table::state, state));
  }
  const storage::Row inWork =
      storage::inWorkRow(consumer, 0, term_.token(), {.ids = {ids.begin(), ids.end()}, .more = true});
  add(parts, pathOf(Table::inWork, inWork), storage::textOf(Table::inWork, inWork));
  send(parts);
}

std::string BareZooKeeper::pathOf(Table table, const storage::Row& row) const {
  return paths_.of(storage::named(table, std::span{row}.first(storage::schemaOf(table).keys)));
}

void BareZooKeeper::add(std::vector<Part>& parts, const std::string& path, std::string value) {
  const auto [known, isNew] = versions_.try_emplace(path, -1);
  parts.push_back({path, std::move(value), known->second++});
}

void BareZooKeeper::send(std::vector<Part>& parts) {
  std::vector<zoo_op_t> ops(parts.size());
  std::vector<zoo_op_result_t> results(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const auto size = static_cast<int>(part.value.size());
    if (part.version < 0)
      zoo_create_op_init(&ops[i], part.path.c_str(), part.value.data(), size, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0);
    else
      zoo_set_op_init(&ops[i], part.path.c_str(), part.value.data(), size, part.version, nullptr);
  }
  bool done = false;
  const auto onDone = [](int rc, const void* context) {
    if (rc != ZOK) std::fprintf(stderr, "%s\n", zerror(rc));
    TENURE_ASSERT(rc == ZOK);
    *const_cast<bool*>(static_cast<const bool*>(context)) = true;
  };
  TENURE_ASSERT(zoo_amulti(handle_.get(), static_cast<int>(ops.size()), ops.data(), results.data(), onDone, &done) ==
                ZOK);
  pumpUntil(done);
}

void BareZooKeeper::pumpUntil(const bool& done) {
  while (!done) {
    int descriptor = -1;
    int interest = 0;
    timeval limit{};
    TENURE_ASSERT(zookeeper_interest(handle_.get(), &descriptor, &interest, &limit) == ZOK);
    const bool reads = (interest & ZOOKEEPER_READ) != 0;
    const bool writes = (interest & ZOOKEEPER_WRITE) != 0;
    pollfd waiting{
        .fd = descriptor, .events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), .revents = 0};
    const int ready = poll(&waiting, 1, std::min(overlookedMs, static_cast<int>(limit.tv_sec * 1000)));
    // ZooKeeper 3.8.0 may overlook a request until the next one comes (ZOOKEEPER-4537).
    if (ready == 0 && zoo_state(handle_.get()) == ZOO_CONNECTED_STATE)
      zoo_aexists(
          handle_.get(), "/", 0, [](int, const Stat*, const void*) {}, nullptr);
    const int events = ((waiting.revents & POLLIN) != 0 ? ZOOKEEPER_READ : 0) |
                       ((waiting.revents & POLLOUT) != 0 ? ZOOKEEPER_WRITE : 0);
    const int rc = zookeeper_process(handle_.get(), events);
    TENURE_ASSERT(rc == ZOK || rc == ZNOTHING);
  }
}

}  // namespace tenure::bench
