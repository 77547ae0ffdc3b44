/// The server on real sockets: what it answers, and what strangers cannot do to it.
#include "telemetry/http/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "support/program.hpp"

namespace tenure::telemetry {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

class HttpServer : public testing::Test {
 protected:
  HttpServer() {
    where = server.listen(Address{}).value();
    thread = std::jthread([this] { loop.run(); });
  }
  ~HttpServer() override {
    loop.stop();
    thread.join();
  }

  Tcp::socket connect() {
    Tcp::socket socket(client);
    socket.connect({asio::ip::make_address(where.host), where.port});
    return socket;
  }
  /// Whatever comes until the server closes.
  template <class Socket>
  static std::string rest(Socket& socket) {
    std::string answer;
    boost::system::error_code end;
    asio::read(socket, asio::dynamic_buffer(answer), end);
    return answer;
  }
  std::string ask(const std::string& request) {
    Tcp::socket socket = connect();
    boost::system::error_code ignored;  // it may refuse before it has all
    asio::write(socket, asio::buffer(request), ignored);
    return rest(socket);
  }
  static std::string get(const std::string& target, const std::string& more = "Host: localhost\r\n") {
    return "GET " + target + " HTTP/1.1\r\n" + more + "Connection: close\r\n\r\n";
  }

  asio::io_context loop;
  asio::io_context client;
  Server server{loop,
                {{"/livez",
                  [](const Request&, const Respond& respond) {
                    respond({200, "alive\n"});
                  }},
                 {"/throws", [](const Request&, const Respond&) { throw std::bad_alloc(); }},
                 {"/later", [this](const Request&, const Respond& respond) {
                    const auto timer = std::make_shared<asio::steady_timer>(loop, 1ms);
                    timer->async_wait([timer, respond](const auto&) { respond({503, "later\n"}); });
                  }}}};
  Address where;
  std::jthread thread;
};

// shows: watch/get-without-body
TEST_F(HttpServer, AnswersItsPathsAndNoOthers) {
  EXPECT_THAT(ask(get("/livez")), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("alive\n"), HasSubstr("no-store")));
  EXPECT_THAT(ask(get("/livez?verbose")), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(ask(get("/later")), AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("later\n")));
  for (const char* target : {"/", "/livez/", "/../livez", "/livez/../../etc/passwd", "/%2e%2e/etc/passwd", "//livez"})
    EXPECT_THAT(ask(get(target)), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("/livez"))) << target;
}

// shows: watch/get-without-body
TEST_F(HttpServer, RefusesWhatWouldChangeSomething) {
  for (const char* method : {"POST", "PUT", "DELETE", "TRACE"})
    EXPECT_THAT(ask(std::string(method) + " /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
                AllOf(StartsWith("HTTP/1.1 405 "), HasSubstr("Allow: GET, HEAD, OPTIONS")))
        << method;
}

// shows: watch/get-without-body
TEST_F(HttpServer, AnswersHeadAsGetButWithoutTheBody) {
  const auto head = [](const std::string& path) { return "HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"; };

  const std::string answers = ask(head("/livez") + get("/livez"));

  EXPECT_THAT(answers, AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("Content-Length: 6\r\n")));
  EXPECT_EQ(answers.find("alive"), answers.rfind("alive")) << "one body, of the second answer";
  EXPECT_THAT(ask(head("/later") + get("/nowhere")), StartsWith("HTTP/1.1 503 "));
}

TEST_F(HttpServer, TellsWhichMethodsThereAre) {
  EXPECT_THAT(ask("OPTIONS /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 204 "), HasSubstr("Allow: GET, HEAD, OPTIONS")));
}

TEST_F(HttpServer, ARouteThatThrowsIsAnsweredAndEndsNothing) {
  EXPECT_THAT(ask(get("/throws")), StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(ask(get("/livez")), StartsWith("HTTP/1.1 200 "));
}

// shows: watch/get-without-body
TEST_F(HttpServer, Row38RefusesBodiesAndEndsTheConnectionBehindThem) {
  const std::string hidden = get("/livez");
  EXPECT_THAT(ask("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello" + hidden),
              StartsWith("HTTP/1.1 413 "));
  const std::string chunked =
      ask("GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden);
  EXPECT_THAT(chunked, StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(chunked, testing::Not(HasSubstr("alive")));
  EXPECT_THAT(
      ask("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n" + hidden),
      testing::Not(HasSubstr("alive")));
}

// shows: watch/get-without-body
TEST_F(HttpServer, Row38RefusesWhatIsNoRequest) {
  EXPECT_THAT(ask("hello\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 16)),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(get("/livez", "")), StartsWith("HTTP/1.1 400 ")) << "no Host";
  EXPECT_THAT(ask(get("/livez", "Host: localhost\r\nHost: evil.example\r\n")), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(get("/livez", "Host: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n")),
              StartsWith("HTTP/1.1 431 "));
}

// shows: watch/server-loopback-reached
TEST_F(HttpServer, Row38IsNotReachedUnderAForeignName) {
  EXPECT_THAT(ask(get("/livez", "Host: evil.example\r\n")), StartsWith("HTTP/1.1 421 "));
}

TEST_F(HttpServer, AnswersSeveralRequestsOfAConnectionInTheirOrder) {
  const std::string one = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string answers = ask(one + one + get("/later"));
  EXPECT_THAT(answers, HasSubstr("alive\n"));
  EXPECT_LT(answers.find("alive\n"), answers.rfind("alive\n"));
  EXPECT_LT(answers.rfind("alive\n"), answers.find("later\n"));
}

// shows: watch/silent-connections-keep
TEST_F(HttpServer, Row38IsReachedBesideAnyNumberOfSilentConnections) {
  std::vector<Tcp::socket> silent;
  for (int i = 0; i < 400; ++i) {
    silent.push_back(connect());
    boost::system::error_code ignored;
    silent.back().send(asio::buffer("GET /li"), 0, ignored);
  }
  EXPECT_THAT(ask(get("/livez")), StartsWith("HTTP/1.1 200 "));
}

// shows: watch/loopback-host-named
TEST_F(HttpServer, ListensOnASocketInTheFileSystemAlsoWhereAKilledServerHasLeftOne) {
  const test::TemporaryFolder folder;
  const Address address{.path = folder / "http.sock"};
  { asio::local::stream_protocol::acceptor abandoned(client, asio::local::stream_protocol::endpoint(address.path)); }
  asio::io_context own;
  Server local{own, {{"/livez", [](const Request&, const Respond& respond) { respond({200, "alive\n"}); }}}};
  ASSERT_TRUE(local.listen(address));
  std::jthread runs([&own] { own.run(); });
  asio::local::stream_protocol::socket socket(client);
  socket.connect(asio::local::stream_protocol::endpoint(address.path));
  asio::write(socket, asio::buffer(get("/livez")));
  EXPECT_THAT(rest(socket), HasSubstr("alive\n"));
  own.stop();
}

TEST_F(HttpServer, SaysWhyItCannotListen) {
  asio::io_context own;
  Server second{own, {}};
  const auto taken = second.listen(where);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().detail, AllOf(HasSubstr(where.text()), HasSubstr("in use")));
}

}  // namespace
}  // namespace tenure::telemetry
