/// Calls that are made for lanes: when they begin, when they are cut, and when a lane goes on without them.
#include "webhook/caller.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/manual_clock.hpp"
#include "support/terms.hpp"

namespace tenure::webhook {
namespace {

using namespace std::chrono_literals;
using test::identityWith;
using test::ManualClock;
using test::TestTerm;
using testing::HasSubstr;

constexpr auto longest = 30s;

/// One connection to the server below.
class Connection {
 public:
  explicit Connection(int socket) : socket_(socket) {}
  ~Connection() { close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The first bytes of the request.
  std::string read() const {
    std::string bytes(4096, '\0');
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(recv(socket_, bytes.data(), bytes.size(), 0), 0)));
    return bytes;
  }
  void answer() const {
    constexpr std::string_view ok = "HTTP/1.1 204 No Content\r\n\r\n";
    EXPECT_EQ(send(socket_, ok.data(), ok.size(), MSG_NOSIGNAL), static_cast<ssize_t>(ok.size()));
  }

 private:
  const int socket_;
};

/// Answers only what a test tells it to.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
  }
  ~SilentServer() { close(socket_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  std::string url() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }
  bool isCalled(std::chrono::milliseconds within) const {
    pollfd of{.fd = socket_, .events = POLLIN, .revents = 0};
    return poll(&of, 1, static_cast<int>(within.count())) == 1;
  }
  std::unique_ptr<Connection> accept() const {
    EXPECT_TRUE(isCalled(longest));
    return std::make_unique<Connection>(accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC));
  }

 private:
  const int socket_;
};

TEST(CallOnce, EndsAtItsLimit) {
  const SilentServer server;
  const auto setup = checked({.url = server.url(), .allowPrivate = true, .timeout = 50ms}).value();

  const Response response = callOnce(*setup, Message{});

  EXPECT_EQ(response.end, Response::End::broken);
  EXPECT_THAT(response.why, HasSubstr("within 50 ms"));
}

class CallerTest : public testing::Test {
 protected:
  std::unique_ptr<IAnswerer> callerOf(std::size_t lane, const Term& term) {
    auto caller = makeCaller(*setup, calls, lane, {});
    caller->attend(term);
    return caller;
  }
  void give(IAnswerer& to, const std::string& id, int attempt = 1) {
    Message message;
    message.id = MessageId{id};
    to.give({.ticket = {++ticket}, .message = std::make_shared<const Message>(message), .attempt = attempt});
  }
  static Outcome outcomeOf(const Reply& reply) { return std::get<Answered>(reply).answer.outcome; }
  static Reply next(IAnswerer& from) {
    const std::vector<Reply> replies = from.await(BootClock::now() + longest, {});
    EXPECT_EQ(replies.size(), 1U);
    return replies.front();
  }

  SilentServer server;
  std::unique_ptr<webhook::Setup> setup =
      checked({.url = server.url(), .allowPrivate = true, .queue = "calls"}).value();
  ManualClock clock;
  TestTerm waning{identityWith(1), 3s, clock};
  Calls calls{*setup};
  TestTerm sound{identityWith(1)};
  std::int64_t ticket = 0;
};

// shows: webhooks/stale-leaders
TEST_F(CallerTest, NoCallBeginsOnceTheLeaseIsLate) {
  const auto late = callerOf(1, waning);
  const auto other = callerOf(2, sound);
  clock.advance(1100ms);
  ASSERT_FALSE(waning->mayBeginWork());
  give(*late, "late");
  give(*other, "other");

  const auto first = server.accept();
  EXPECT_THAT(first->read(), HasSubstr("webhook-id: calls:other"));
  EXPECT_FALSE(server.isCalled(0ms));

  waning.state().lease().confirm(clock.now());
  EXPECT_THAT(server.accept()->read(), HasSubstr("webhook-id: calls:late"));
}

// shows: webhooks/stale-leaders
TEST_F(CallerTest, ACallUnderWayIsCutWhenTheLeaseIsOver) {
  const auto caller = callerOf(1, waning);
  give(*caller, "m");
  const auto connection = server.accept();
  EXPECT_THAT(connection->read(), HasSubstr("POST"));

  clock.advance(1600ms);

  EXPECT_TRUE(std::holds_alternative<GivenLost>(next(*caller)));
  EXPECT_EQ(connection->read(), "") << "the connection is closed";
}

// shows: webhooks/hanging-endpoints
TEST_F(CallerTest, ALaneGoesOnWithoutACallThatTakesLongAndItsAnswerIsThereLater) {
  const auto caller = callerOf(1, sound);
  give(*caller, "m");
  const auto connection = server.accept();
  EXPECT_THAT(connection->read(), HasSubstr("POST"));

  caller->hurry();
  EXPECT_EQ(outcomeOf(next(*caller)).kind, Outcome::Kind::retryLater);
  give(*caller, "m");
  EXPECT_EQ(outcomeOf(next(*caller)).kind, Outcome::Kind::retryLater) << "it has no answer yet";
  connection->answer();
  const auto another = callerOf(2, sound);
  Outcome outcome = Outcome::retryLater("");
  while (outcome.kind == Outcome::Kind::retryLater) {
    give(*another, "m");
    outcome = outcomeOf(next(*another));
  }

  EXPECT_EQ(outcome.kind, Outcome::Kind::done);
  EXPECT_FALSE(server.isCalled(0ms)) << "it was called twice";
}

TEST_F(CallerTest, AnotherAttemptIsAnotherCall) {
  const auto caller = callerOf(1, sound);
  give(*caller, "m");
  const auto first = server.accept();
  EXPECT_THAT(first->read(), HasSubstr("POST"));
  caller->hurry();
  EXPECT_EQ(outcomeOf(next(*caller)).kind, Outcome::Kind::retryLater);

  give(*caller, "m", 2);

  const auto second = server.accept();
  EXPECT_THAT(second->read(), HasSubstr("POST"));
  second->answer();
  EXPECT_EQ(outcomeOf(next(*caller)).kind, Outcome::Kind::done);
  EXPECT_EQ(first->read(), "") << "the first one is cut";
}

}  // namespace
}  // namespace tenure::webhook
