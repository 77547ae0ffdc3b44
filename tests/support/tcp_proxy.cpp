#include "support/tcp_proxy.hpp"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

namespace tenure::test {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

std::int32_t integerAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (const char byte : bytes.substr(at, 4)) value = value << 8 | static_cast<unsigned char>(byte);
  return static_cast<std::int32_t>(value);
}

/// Counts packets as they begin, however their bytes come. A packet is its length and an xid first; pings, watch events
/// and authentication have negative ones.
class Packets {
 public:
  std::size_t numberedIn(std::string_view bytes) {
    std::size_t count = 0;
    while (!bytes.empty()) {
      const std::size_t skipped = std::min(left_, bytes.size());
      left_ -= skipped;
      bytes.remove_prefix(skipped);
      const std::string_view taken = bytes.substr(0, 8 - head_.size());
      head_ += taken;
      bytes.remove_prefix(taken.size());
      if (head_.size() < 8) continue;
      if (integerAt(head_, 4) > 0) ++count;
      left_ = static_cast<std::size_t>(std::max(integerAt(head_, 0) - 4, 0));
      head_.clear();
    }
    return count;
  }

 private:
  std::string head_;
  std::size_t left_ = 0;  // of the packet
};

/// What a server says to who comes with a session that is over: a timeout of 0.
bool tellsOfExpiry(std::string_view bytes) {
  return bytes.size() >= 12 && integerAt(bytes, 4) == 0 && integerAt(bytes, 8) == 0;
}

enum class Loss { none, awaitingRequest, awaitingReply };

/// What all connections obey.
struct Rules {
  bool refuse = false;
  bool drops[2] = {false, false};
  Loss loss = Loss::none;
  std::size_t requests = 0;
  std::optional<std::uint16_t> afterExpiry{};
  std::optional<std::uint16_t> target{};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket client, tcp::socket server, Rules& rules)
      : sides_{std::move(client), std::move(server)}, rules_(&rules) {}

  void start() {
    pump(Direction::toServer);
    pump(Direction::toClient);
  }
  void close() {
    error_code ignored;
    for (tcp::socket& side : sides_) side.close(ignored);
  }
  /// As a firewall does after a long silence.
  void forget() noexcept { forgotten_ = true; }
  bool open() const { return sides_[0].is_open(); }
  bool lostBytes() const { return lostBytes_; }

 private:
  tcp::socket& source(Direction way) { return sides_[way == Direction::toServer ? 0 : 1]; }
  tcp::socket& sink(Direction way) { return sides_[way == Direction::toServer ? 1 : 0]; }

  void pump(Direction way) {
    source(way).async_read_some(asio::buffer(buffers_[index(way)]),
                                [self = shared_from_this(), way](const error_code& error, std::size_t count) {
                                  if (error) return self->ended(way);
                                  self->pass(way, std::string(self->buffers_[index(way)].data(), count));
                                });
  }

  void ended(Direction way) {
    if (!drops(way)) return close();
    lostBytes_ = true;  // the farewell, too
  }

  void pass(Direction way, const std::string& bytes) {
    if (losesReply(way, bytes)) return close();
    if (way == Direction::toClient && rules_->afterExpiry && tellsOfExpiry(bytes)) rules_->target = rules_->afterExpiry;
    if (drops(way)) {
      lostBytes_ = true;
    } else {
      error_code failed;
      asio::write(sink(way), asio::buffer(bytes), failed);
      if (failed) return close();
    }
    pump(way);
  }

  bool losesReply(Direction way, std::string_view bytes) {
    const std::size_t packets = packets_[index(way)].numberedIn(bytes);
    if (packets == 0) return false;
    if (way == Direction::toServer) rules_->requests += packets;
    if (way == Direction::toServer && rules_->loss == Loss::awaitingRequest) {
      rules_->loss = Loss::awaitingReply;
      losing_ = true;
    }
    if (way != Direction::toClient || !losing_) return false;
    rules_->loss = Loss::none;
    return true;
  }

  bool drops(Direction way) const noexcept { return forgotten_ || rules_->drops[index(way)]; }
  static std::size_t index(Direction way) { return way == Direction::toServer ? 0 : 1; }

  std::array<tcp::socket, 2> sides_;
  std::array<std::array<char, 65'536>, 2> buffers_{};
  Rules* rules_;
  std::array<Packets, 2> packets_;
  bool forgotten_ = false;
  bool lostBytes_ = false;
  bool losing_ = false;
};

}  // namespace

class TcpProxy::Impl {
 public:
  Impl(std::uint16_t target, std::chrono::milliseconds patience, const tcp::endpoint& at)
      : target_(asio::ip::address_v4::loopback(), target), patience_(patience), acceptor_(context_, at) {
    accept();
    thread_ = std::thread([this] { context_.run(); });
  }

  ~Impl() {
    context_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }

  /// Runs `change` on the proxy's thread and waits for it.
  template <class Change>
  auto apply(Change change) {
    std::packaged_task<decltype(change(*this))()> task([&] { return change(*this); });
    auto result = task.get_future();
    asio::post(context_, [&task] { task(); });
    return result.get();
  }

  template <class Condition>
  void closeWhere(Condition condition) {
    for (const auto& connection : connections_)
      if (condition(*connection)) connection->close();
    forgetClosed();
  }

  void forgetConnections() {
    for (const auto& connection : connections_) connection->forget();
  }

  std::size_t openConnections() {
    forgetClosed();
    return connections_.size();
  }

  Rules rules;
  std::size_t accepted = 0;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& error, tcp::socket client) {
      if (!error) ++accepted;
      if (!error) connect(std::move(client), Clock::now() + patience_);
      forgetClosed();
      accept();
    });
  }

  using Clock = std::chrono::steady_clock;

  void connect(tcp::socket client, Clock::time_point until) {
    if (rules.refuse) return;
    tcp::socket server(context_);
    error_code refused;
    server.connect(rules.target ? tcp::endpoint(target_.address(), *rules.target) : target_, refused);
    if (refused) return connectLater(std::move(client), until);
    client.set_option(tcp::no_delay(true));
    server.set_option(tcp::no_delay(true));
    const auto connection = std::make_shared<Connection>(std::move(client), std::move(server), rules);
    connections_.insert(connection);
    connection->start();
  }

  void connectLater(tcp::socket client, Clock::time_point until) {
    if (Clock::now() >= until) return;
    const auto timer = std::make_shared<asio::steady_timer>(context_, std::chrono::milliseconds{20});
    const auto held = std::make_shared<tcp::socket>(std::move(client));
    timer->async_wait([this, timer, held, until](const error_code& error) {
      if (!error) connect(std::move(*held), until);
    });
  }

  void forgetClosed() {
    std::erase_if(connections_, [](const auto& connection) { return !connection->open(); });
  }

  asio::io_context context_;
  tcp::endpoint target_;
  std::chrono::milliseconds patience_;
  tcp::acceptor acceptor_;
  std::set<std::shared_ptr<Connection>> connections_;
  std::thread thread_;
};

TcpProxy::TcpProxy(std::uint16_t target, std::chrono::milliseconds patience)
    : impl_(std::make_unique<Impl>(target, patience, tcp::endpoint(asio::ip::address_v4::loopback(), 0))) {}
TcpProxy::TcpProxy(std::uint16_t target, const std::string& address)
    : impl_(std::make_unique<Impl>(target, std::chrono::milliseconds{},
                                   tcp::endpoint(asio::ip::make_address(address), target))) {}
TcpProxy::~TcpProxy() = default;

std::string TcpProxy::host() const { return "127.0.0.1:" + std::to_string(impl_->port()); }

std::uint16_t TcpProxy::port() const { return impl_->port(); }

void TcpProxy::cut() {
  impl_->apply([](Impl& proxy) {
    proxy.rules.refuse = true;
    proxy.closeWhere([](const Connection&) { return true; });
  });
}

void TcpProxy::stall() {
  impl_->apply([](Impl& proxy) { proxy.rules.drops[0] = proxy.rules.drops[1] = true; });
}

void TcpProxy::drop(Direction direction) {
  impl_->apply([=](Impl& proxy) { proxy.rules.drops[direction == Direction::toServer ? 0 : 1] = true; });
}

void TcpProxy::forgetConnections() {
  impl_->apply([](Impl& proxy) { proxy.forgetConnections(); });
}

void TcpProxy::resume() {
  impl_->apply([](Impl& proxy) {
    proxy.rules =
        Rules{.requests = proxy.rules.requests, .afterExpiry = proxy.rules.afterExpiry, .target = proxy.rules.target};
    proxy.closeWhere([](const Connection& connection) { return connection.lostBytes(); });
  });
}

void TcpProxy::moveOnceExpired(std::uint16_t target) {
  impl_->apply([=](Impl& proxy) { proxy.rules.afterExpiry = target; });
}

void TcpProxy::loseNextReply() {
  impl_->apply([](Impl& proxy) { proxy.rules.loss = Loss::awaitingRequest; });
}

std::size_t TcpProxy::connections() const {
  return impl_->apply([](Impl& proxy) { return proxy.openConnections(); });
}

std::size_t TcpProxy::requests() const {
  return impl_->apply([](Impl& proxy) { return proxy.rules.requests; });
}

std::size_t TcpProxy::accepted() const {
  return impl_->apply([](Impl& proxy) { return proxy.accepted; });
}

}  // namespace tenure::test
