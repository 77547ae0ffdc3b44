/// A call by hand has the same limit as any other.
#include "webhook/caller.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tenure::webhook {
namespace {

using namespace std::chrono_literals;

/// Takes connections, and answers none.
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
  std::string url() const {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }

 private:
  const int socket_;
};

TEST(CallOnce, EndsAtItsLimit) {
  const SilentServer server;
  const auto setup = checked({.url = server.url(), .allowPrivate = true, .timeout = 50ms}).value();

  const Response response = callOnce(*setup, Message{});

  EXPECT_EQ(response.end, Response::End::broken);
  EXPECT_THAT(response.why, testing::HasSubstr("within 50 ms"));
}

}  // namespace
}  // namespace tenure::webhook
