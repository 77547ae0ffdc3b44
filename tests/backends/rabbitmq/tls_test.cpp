// The broker must prove who it is, and nothing is said in the clear when it does not.
#include <sys/socket.h>

#include <future>

#include "scene.hpp"
#include "support/certificates.hpp"

namespace tenure::rabbitmq {
namespace {

using testing::HasSubstr;

/// A server that proves itself with that certificate, and speaks no AMQP: a client that trusts it would wait for ever.
class Impostor {
 public:
  explicit Impostor(const test::Certificate& certificate)
      : server_({"openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate.certificate, "-key",
                 certificate.key},
                folder_ / "log", {}, "/dev/zero") {
    EXPECT_TRUE(server_.waitForOutput("ACCEPT 127.0.0.1:")) << server_.output();
  }
  std::uint16_t port() const {
    static constexpr std::string_view before = "ACCEPT 127.0.0.1:";
    const std::string output = server_.output();
    return static_cast<std::uint16_t>(std::stoi(output.substr(output.find(before) + before.size())));
  }

 private:
  test::TemporaryFolder folder_;
  test::Program server_;
};

class OverTls : public Scene {
 protected:
  OverTls() {
    options_.host = "localhost";
    options_.tls.on = true;
    options_.tls.authority = authority_.certificate();
  }
  Result<void> attach() { return makeSource(options_, events_)->attach(term_); }

  test::Authority authority_;
};

// shows: operations/tls-rabbitmq-well
TEST_F(OverTls, MessagesGoBothWays) {
  const test::Certificate certificate = authority_.issue("DNS:localhost");
  const test::RabbitServer broker(test::RabbitTls{authority_.certificate(), certificate.certificate, certificate.key});
  options_.port = broker.tlsPort();

  ASSERT_THAT(append(options_, {"a", "b"}), succeeds());

  EXPECT_THAT(idsOf(look(*attached(term_))), testing::ElementsAre("a", "b"));
}

// shows: operations/tls-rabbitmq-well
TEST_F(OverTls, Row21AnotherNameIsRefused) {
  const Impostor impostor(authority_.issue("DNS:elsewhere.example"));
  options_.port = impostor.port();

  const Result<void> refused = attach();

  EXPECT_THAT(refused, failsWith(Errc::authenticationFailed));
  EXPECT_THAT(refused.error().detail, HasSubstr("localhost"));
}

TEST_F(OverTls, Row21AnExpiredCertificateIsRefused) {
  const Impostor impostor(authority_.issue("DNS:localhost", -1));
  options_.port = impostor.port();

  EXPECT_THAT(attach(), failsWith(Errc::authenticationFailed));
}

TEST_F(OverTls, Row21AnotherAuthorityIsRefused) {
  test::Authority another;
  const Impostor impostor(another.issue("DNS:localhost"));
  options_.port = impostor.port();

  EXPECT_THAT(attach(), failsWith(Errc::authenticationFailed));
}

TEST_F(OverTls, Row21ACertificateThatVouchesForItselfIsRefused) {
  const test::Authority itself;
  const Impostor impostor({itself.certificate(), itself.key()});
  options_.port = impostor.port();

  EXPECT_THAT(attach(), failsWith(Errc::authenticationFailed));
}

TEST_F(OverTls, Row22AServerThatStallsTheHandshakeIsGivenUp) {
  const test::Descriptor silent = test::listenOn(0);
  options_.port = test::portOf(silent);
  options_.connectLimit = 200ms;

  EXPECT_THAT(attach(), failsWith(Errc::timedOut));
}

TEST_F(OverTls, Row20NothingIsSaidInTheClear) {
  const test::Descriptor listener = test::listenOn(0);
  options_.port = test::portOf(listener);
  auto attaching = std::async(std::launch::async, [&] { return attach(); });
  {
    const test::Descriptor plain(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    constexpr std::string_view handshake = "\x16\x03";  // a TLS record, where AMQP would begin with its name
    EXPECT_EQ(test::receive(plain, handshake.size()), handshake);
  }

  EXPECT_THAT(attaching.get(), failsWith(Errc::unavailable));
}

TEST_F(OverTls, AFileThatCannotBeReadIsNamed) {
  options_.tls.authority = "/nowhere/authority.pem";

  const Result<void> refused = attach();

  ASSERT_THAT(refused, failsWith(Errc::configurationRefused));
  EXPECT_THAT(refused.error().detail, HasSubstr("/nowhere/authority.pem"));
}

}  // namespace
}  // namespace tenure::rabbitmq
