// A pooler in between: one that hands out transactions is refused and keeps no trace, one that hands out sessions will
// do.
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "leading.hpp"
#include "support/ensemble.hpp"

namespace tenure::postgresql {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::HasSubstr;

class PgBouncer {
 public:
  PgBouncer(const test::PostgresWorld& world, const Options& options, const std::string& mode) {
    for (int attempt = 0; attempt < 3; ++attempt) {
      port_ = test::freePorts(1).front();
      std::ofstream(folder_ / "ini") << "[databases]\n* = host=127.0.0.1 port=" << options.port
                                     << " user=" << world.role()
                                     << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                                     << "\nauth_type = any\nunix_socket_dir =\npool_mode = " << mode << '\n';
      test::Program::Arguments command{"setpriv", "--pdeathsig", "KILL"};
      if (geteuid() == 0) command.insert(command.end(), {"--reuid", "nobody", "--regid", "nogroup", "--clear-groups"});
      command.insert(command.end(), {"/usr/sbin/pgbouncer", (folder_ / "ini").string()});
      chmod(folder_.path().c_str(), 0755);
      process_.emplace(command, folder_ / "log");
      if (process_->waitForOutput("process up")) return;
      process_.reset();  // most likely somebody took the port
    }
    throw std::runtime_error("pgbouncer does not start");
  }
  std::uint16_t port() const noexcept { return port_; }

 private:
  test::TemporaryFolder folder_;
  std::uint16_t port_ = 0;
  std::optional<test::Program> process_;
};

class BehindAPooler : public testing::Test {
 protected:
  Options through(const PgBouncer& pooler) const {
    Options options = options_;
    options.port = pooler.port();
    return options;
  }
  test::PostgresSession strangerAt(const PgBouncer& pooler) const {
    return test::PostgresSession("host=127.0.0.1 dbname=postgres user=stranger port=" + std::to_string(pooler.port()));
  }

  test::PostgresWorld world_;
  const Options options_ = world_.options();
};

// shows: operations/pooler-transactions
TEST_F(BehindAPooler, OfTransactionsItIsRefusedAndNothingStaysForOthers) {
  const PgBouncer pooler(world_, options_, "transaction");
  auto stranger = strangerAt(pooler);
  const std::string settings =
      "SELECT string_agg(current_setting(name), ' ') FROM unnest(ARRAY['lock_timeout', 'statement_timeout',"
      " 'idle_in_transaction_session_timeout', 'bytea_output', 'client_connection_check_interval']) AS name";
  const std::string before = stranger.ask(settings);
  Leader leader(through(pooler), 7);

  const Result<void> claimed = leader.claim();

  EXPECT_THAT(claimed, failsWith(Errc::configurationRefused));
  EXPECT_THAT(claimed.error().detail, HasSubstr("pool_mode = session"));
  EXPECT_THAT(leader.store().prepare({}), failsWith(Errc::configurationRefused));
  EXPECT_EQ(stranger.ask(settings), before);
  EXPECT_EQ(stranger.ask("SELECT count(*) FROM pg_prepared_statements"), "0");
}

// shows: operations/pooler-transactions
TEST_F(BehindAPooler, OfSessionsItCommitsAndReads) {
  const PgBouncer pooler(world_, options_, "session");
  Leader leader(through(pooler), 7);
  ASSERT_THAT(leader.claim(), succeeds());
  ASSERT_THAT(leader.database.source().attach(leader.term), succeeds());
  ASSERT_THAT(world_.sink()->append(std::vector{NewMessage{MessageId{"a"}, {}, "body", {}}}), succeeds());

  EXPECT_THAT(leader.put("k", "1"), succeeds());
  EXPECT_THAT(leader.database.source().fetch(10, BootClock::now() + 10s, {}).value(), testing::SizeIs(1));
}

}  // namespace
}  // namespace tenure::postgresql
