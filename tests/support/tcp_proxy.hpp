/// A TCP proxy on 127.0.0.1 between a ZooKeeper client and its server, for the faults of a network.
///
///   passing --cut()---> cut       connections closed, new ones closed at once
///   passing --stall()-> stalled   half-open: connections stay, bytes of both directions vanish, new ones get no
///   answer,
///                                 and who closes his end is not heard either
///   passing --drop(d)-> dropping  as stalled, in one direction only
///   passing --forgetConnections()-> passing   those that there are stay half-open for ever; new ones are served
///   any --resume()----> passing   connections that lost bytes are closed first
///
/// Every call has taken effect when it returns. Threads: one of its own; calls from any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace tenure::test {

enum class Direction { toServer, toClient };

class TcpProxy {
 public:
  /// `patience`   how long a connection is held while nobody listens at the target yet; without, it is closed at once.
  /// A ZooKeeper follower tries again where a connection is refused, and gives up where it is accepted and closed.
  explicit TcpProxy(std::uint16_t target, std::chrono::milliseconds patience = {});
  /// Another way to the target, at the same port of this address, such as 127.0.0.2.
  TcpProxy(std::uint16_t target, const std::string& address);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  /// "127.0.0.1:port", for the client.
  std::string host() const;
  std::uint16_t port() const;

  void cut();
  void stall();
  void drop(Direction direction);
  void forgetConnections();
  void resume();

  /// The next request reaches the server, its reply is lost and its connection closed. Pings and watch events do not
  /// count. The proxy then passes again.
  void loseNextReply();

  /// Once a client has heard there that its session is over, who connects is led to this port.
  void moveOnceExpired(std::uint16_t target);

  std::size_t connections() const;
  /// All that ever were.
  std::size_t accepted() const;
  /// ZooKeeper's that came from clients, delivered or dropped; pings do not count.
  std::size_t requests() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::test
