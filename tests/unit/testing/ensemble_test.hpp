/// An in-memory ensemble in virtual time, with clients that keep what they were told.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/driver.hpp"
#include "support/results.hpp"
#include "testing/ensemble/ensemble.hpp"
#include "testing/world/manual_loop.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

constexpr auto one = MemoryEnsemble::server(1);
constexpr auto two = MemoryEnsemble::server(2);
constexpr auto three = MemoryEnsemble::server(3);  // leads from the start

/// A client, its session's story, and its waiting calls.
struct Peer {
  RecordedSession session;
  std::unique_ptr<MemoryClient> client;
  Driver driver;

  Peer(ManualLoop& loop, std::unique_ptr<MemoryClient> made) : client(std::move(made)), driver(loop, *client) {
    client->start(session);
    EXPECT_TRUE(loop.advanceUntil([this] { return !session.told.empty(); }));
  }
  Driver* operator->() { return &driver; }
};

struct EnsembleTest : testing::Test {
  ManualLoop loop{BootTime{1h}};
  MemoryEnsemble ensemble{loop, {}, 7};

  /// Tries the given servers in turn; all of them when none is given.
  Peer join(std::vector<MemoryEnsemble::MachineId> servers = {}, std::chrono::milliseconds timeout = 4s,
            std::string digest = {}) {
    return Peer(loop, ensemble.connect({.sessionTimeout = timeout, .digest = std::move(digest), .servers = servers}));
  }
  bool exists(const std::string& path) const { return ensemble.tree().find(path) != nullptr; }
  /// How long until `condition` holds; `limit` when it never does.
  Duration until(const std::function<bool()>& condition, Duration limit = 60s) {
    const BootTime begin = loop.now();
    return loop.advanceUntil(condition, limit) ? loop.now() - begin : limit;
  }
};

/// Whether something called back, and with what.
template <class T>
struct Called {
  std::shared_ptr<std::vector<Result<T>>> results = std::make_shared<std::vector<Result<T>>>();
  Callback<T> callback() const {
    return [results = results](Result<T> result) { results->push_back(std::move(result)); };
  }
  bool once() const { return results->size() == 1; }
  bool never() const { return results->empty(); }
  const Result<T>& result() const { return results->at(0); }
};

}  // namespace tenure::test
