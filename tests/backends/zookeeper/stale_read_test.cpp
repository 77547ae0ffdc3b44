// A store whose session is replaced in the middle of a transaction, at a server that is behind the others.
#include <future>

#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "support/ensemble.hpp"
#include "support/quorum_links.hpp"
#include "support/results.hpp"
#include "support/session_closer.hpp"
#include "support/tcp_proxy.hpp"
#include "support/terms.hpp"
#include "tenure/spi/store.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::zookeeper {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::succeeds;
using test::TestTerm;

/// Three servers, one of which can be cut off and takes a minute to notice. Their sessions are their own: a new one
/// costs no write, so that a server need not have caught up to begin one.
class StaleRead : public testing::Test {
 protected:
  StoreOptions optionsAt(const std::string& host) const {
    StoreOptions options;
    options.zookeeper.hosts = host;
    options.zookeeper.sessionTimeout = 60s;
    options.replyLimit = 60s;
    options.name = "ledger";
    return options;
  }
  static Result<void> put(IFencedStore& store, const Term& term, const std::string& value) {
    const auto transaction = store.begin(term);
    if (!transaction) return transaction.error();
    if (const Result<void> put = (*transaction)->put("k", value); !put) return put;
    return (*transaction)->commit();
  }

  test::QuorumLinks links_;
  test::Ensemble ensemble_{{.tick = 1s,
                            .syncLimitTicks = 60,
                            .settings = "localSessionsEnabled=true\n",
                            .peerRoute = [this](std::size_t from, std::size_t to, std::uint16_t port) {
                              return links_.route(from, to, port);
                            }}};
  const std::size_t leader_ = ensemble_.leader();
  const std::size_t here_ = (leader_ + 1) % 3;
  const std::size_t behind_ = (leader_ + 2) % 3;
  test::TcpProxy way_{ensemble_.port(here_)};
};

TEST_F(StaleRead, OfASessionThatWasReplacedNeverFeedsACommit) {
  const TestTerm before(7);
  const auto predecessor = openStore(optionsAt(ensemble_.hosts(leader_)), noEvents());
  ASSERT_THAT(predecessor->claim(before), succeeds());
  ASSERT_THAT(put(*predecessor, before, "old"), succeeds());
  const StoreOptions options = optionsAt(way_.host());
  SessionThread atBehind(optionsAt(ensemble_.hosts(behind_)).zookeeper, 60s);
  const std::string path = Paths("/tenure", "ledger").of({spi::Table::state, "k"});
  ASSERT_THAT(atBehind.get(path), succeeds()) << "it has caught up";
  links_.isolate(behind_);
  ASSERT_THAT(put(*predecessor, before, "new"), succeeds());
  ASSERT_EQ(atBehind.get(path).value().data, "old") << "what a stale read would see";

  const TestTerm term(8);
  const auto store = openStore(options, noEvents());
  ASSERT_THAT(store->claim(term), succeeds());
  const auto transaction = store->begin(term).value();
  ASSERT_EQ(transaction->get("other").value(), std::nullopt);
  const std::vector<std::int64_t> sessions = ensemble_.sessionsAt(here_);
  ASSERT_EQ(sessions.size(), 1U);
  way_.moveOnceExpired(ensemble_.port(behind_));
  way_.cut();
  ASSERT_TRUE(eventually([&] { return test::closeSession(ensemble_.endpoint(here_), sessions[0]); }));
  way_.resume();
  ASSERT_TRUE(eventually([&] { return ensemble_.sessionsAt(behind_).size() == 2; })) << "ours, and the new one";

  const std::size_t requests = way_.requests();
  auto reading = std::async(std::launch::async, [&] { return transaction->get("k"); });
  const auto isAnswered = [&] { return reading.wait_for(0s) == std::future_status::ready; };
  EXPECT_TRUE(eventually([&] { return isAnswered() || way_.requests() >= requests + 2; })) << "a sync and a read";
  links_.heal();

  const Result<std::optional<std::string>> read = reading.get();
  EXPECT_TRUE(!read || read->value_or("none") == "new") << read->value_or("none");
  transaction->rollback();
  Result<std::optional<std::string>> again = read;
  EXPECT_TRUE(eventually([&] {
    const auto next = store->begin(term);
    if (next) again = (*next)->get("k");
    return next && again;
  }));
  EXPECT_EQ(again.value(), "new");
}

}  // namespace
}  // namespace tenure::zookeeper
