/// TLS between replicas and ensemble, as docs/operations.md says: plain → stunnel → TLS → stunnel → a real ensemble.
#include "process/tool/cli/replica.hpp"
#include "support/stunnel.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* name = "zk.shop.example";

class Tunnel : public ToolInElection {
 protected:
  static std::vector<std::uint16_t> servers() {
    std::vector<std::uint16_t> ports;
    for (std::size_t i = 0; i < Ensemble::shared().size(); ++i) ports.push_back(Ensemble::shared().port(i));
    return ports;
  }
  Program replica(const Stunnel& tunnel, const std::string& id) {
    return start({"consume", "--zookeeper", tunnel.hosts(), "--election", "tls", "--queue", queue(), "--id", id,
                  "--sql", "INSERT INTO ledger(id) VALUES (:id)"},
                 id);
  }
  Run check(const Stunnel& tunnel) { return tenure({"check", "--zookeeper", tunnel.hosts()}); }

  Authority authority_;
  const Certificate good_ = authority_.issue("DNS:" + std::string(name));
};

// shows: operations/tls-zookeeper-tunnel
TEST_F(Tunnel, CarriesWholeTermsAHandoverAndALastWill) {
  const Stunnel far = Stunnel::server(servers(), good_);
  const Stunnel near = Stunnel::client(far.ports(), authority_, name);
  produce(numbered(3));

  Program first = replica(near, "first");
  ASSERT_TRUE(ledgerReaches(3)) << first.output();
  Program second = replica(near, "second");
  ASSERT_TRUE(second.waitForOutput(" stood_by ")) << second.output();
  first.signal(SIGUSR1);
  ASSERT_TRUE(leads(second)) << second.output();
  second.signal(SIGKILL);
  ASSERT_TRUE(leads(first, 2)) << first.output();

  EXPECT_EQ(told(first, SIGTERM), 0) << first.output();
  EXPECT_THAT(near.log(), HasSubstr("TLS connected: new session negotiated"));
  EXPECT_THAT(check(near).output, HasSubstr("3.8.0, leader"));
}

// shows: operations/server-expired-certificate
TEST_F(Tunnel, Row21LeadsToNoServerWithAnotherName) {
  const Stunnel far = Stunnel::server(servers(), authority_.issue("DNS:zk.elsewhere.example"));
  Stunnel near = Stunnel::client(far.ports(), authority_, name);

  const Run run = check(near);

  EXPECT_EQ(run.exit, 69) << run.output;
  EXPECT_THAT(run.output, AllOf(HasSubstr("NOT SEEN unavailable: no server of " + near.hosts() + " answered"),
                                HasSubstr("hangs up"), HasSubstr("tunnel")));
  EXPECT_TRUE(near.logs("CERT: Subject checks failed")) << near.log();
  produce(numbered(1));
  Program alone = replica(near, "alone");
  EXPECT_TRUE(alone.waitForOutput(" not_connected ")) << alone.output();
  EXPECT_EQ(told(alone, SIGTERM), 0) << alone.output();
}

// shows: operations/server-expired-certificate
TEST_F(Tunnel, Row21LeadsToNoServerWhoseCertificateHasExpired) {
  const Stunnel far = Stunnel::server(servers(), authority_.issue("DNS:" + std::string(name), -1));
  Stunnel near = Stunnel::client(far.ports(), authority_, name);

  EXPECT_EQ(check(near).exit, 69);

  EXPECT_TRUE(near.logs("certificate has expired")) << near.log();
}

// shows: operations/server-expired-certificate
TEST_F(Tunnel, Row21LeadsToNoServerOfAnotherAuthority) {
  Authority stranger;
  const Stunnel far = Stunnel::server(servers(), stranger.issue("DNS:" + std::string(name)));
  Stunnel near = Stunnel::client(far.ports(), authority_, name);

  EXPECT_EQ(check(near).exit, 69);

  EXPECT_TRUE(near.logs("Rejected by CERT")) << near.log();
}

// shows: operations/server-expired-certificate
TEST_F(Tunnel, LetsNobodyInWithoutACertificateWhereServersAskForOne) {
  const Stunnel far = Stunnel::server(servers(), good_, authority_.certificate());
  const Stunnel nobody = Stunnel::client(far.ports(), authority_, name);
  const Stunnel replica = Stunnel::client(far.ports(), authority_, name, authority_.issue("DNS:replica-1"));

  EXPECT_EQ(check(nobody).exit, 69);
  EXPECT_THAT(check(replica).output, HasSubstr("3.8.0, leader"));
}

}  // namespace
}  // namespace tenure::test
