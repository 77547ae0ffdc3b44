/// A leader in a world of its own, for the tests of this room.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "support/events.hpp"
#include "support/postgres_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::postgresql {

/// One replica, which leads once it has claimed.
class Leader {
 public:
  Leader(const Options& options, std::int64_t token, IEventSink& events = noEvents())
      : term(token), database(options, events) {}

  Result<void> claim() { return store().claim(term); }
  IFencedStore& store() { return database.store(); }
  std::unique_ptr<IFencedTransaction> begin() { return store().begin(term).value(); }
  Result<void> put(const std::string& key, const std::string& value) {
    const auto transaction = begin();
    if (Result<void> written = transaction->put(key, value); !written) return written;
    return transaction->commit();
  }
  std::string get(const std::string& key) { return begin()->get(key).value().value_or("none"); }

  test::TestTerm term;
  Database database;
};

/// Puts it, and holds the fence from here on: what is put is only a value until the commit.
inline Result<void> putAndHold(IFencedTransaction& transaction, const std::string& key, const std::string& value) {
  if (Result<void> put = transaction.put(key, value); !put) return put;
  const auto asked = transaction.sql()->execute("SELECT 1");
  return asked ? Result<void>{} : asked.error();
}

/// "none" when there is none.
inline std::string sessionOf(test::PostgresWorld& world, const std::string& name) {
  return world.ask("SELECT pid FROM pg_stat_activity WHERE usename = '" + world.role() + "' AND application_name = '" +
                   name + "'");
}

/// How soon a waiting fetch in that session has what is appended: the fastest of several, as machines are busy.
inline Duration soonestArrival(test::PostgresWorld& world, IMessageSource& source, const std::string& session) {
  using namespace std::chrono_literals;
  const auto sink = world.sink();
  Duration soonest = 1h;
  for (int round = 0; round < 20 && soonest > 200ms; ++round) {
    BootTime appended{};
    std::jthread producing([&] {
      EXPECT_TRUE(test::eventually([&] {
        return world.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + session +
                         "' AND state = 'idle'") != "0";
      }));
      appended = BootClock::now();
      EXPECT_THAT(sink->append(std::vector{NewMessage{MessageId{"m"}, {}, "body", {}}}), test::succeeds());
    });
    EXPECT_EQ(source.fetch(1000, BootClock::now() + 30s, {}).value().size(), 1U);
    const BootTime arrived = BootClock::now();
    producing.join();
    soonest = std::min<Duration>(soonest, arrived - appended);
  }
  return soonest;
}

/// What an administrator, or a crash of that one process, does to a session; returns when it is gone.
inline void terminate(test::PostgresWorld& world, const std::string& name) {
  world.ask("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '" + world.role() +
            "' AND application_name = '" + name + "'");
  EXPECT_EQ(sessionOf(world, name), "none");
}

}  // namespace tenure::postgresql
