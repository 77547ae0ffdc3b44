#include "telemetry/http/server.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <list>
#include <optional>

namespace tenure::telemetry {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

constexpr std::size_t mostConnections = 128;
constexpr std::size_t longestRequest = 8 * 1024;
constexpr int mostRequests = 1'000;  // of one connection
constexpr std::chrono::seconds patience{5};
/// What a client still sends behind our last answer is read: else the system would throw the answer away with it.
constexpr std::chrono::seconds farewell{1};
constexpr std::size_t longestFarewell = 64 * 1024;
constexpr std::chrono::milliseconds afterFailure{100};  // out of descriptors, for example

using Answer = beast::http::response<beast::http::string_body>;
using Parser = beast::http::request_parser<beast::http::empty_body>;
constexpr auto asTuple = asio::as_tuple(asio::use_awaitable);

Answer answerOf(const Response& response, unsigned version, bool keepsAlive) {
  Answer answer{static_cast<beast::http::status>(response.status), version};
  answer.set(beast::http::field::content_type, response.type);
  answer.set(beast::http::field::cache_control, "no-store");
  answer.set("X-Content-Type-Options", "nosniff");
  if (response.status == 405 || response.status == 204) answer.set(beast::http::field::allow, "GET, HEAD, OPTIONS");
  answer.body() = response.body;
  answer.keep_alive(keepsAlive);
  if (response.status != 204) answer.prepare_payload();
  return answer;
}

/// As the answer to HEAD: its headers, the length of the body among them, and no body.
beast::http::response<beast::http::empty_body> headersOf(const Answer& answer) {
  return beast::http::response<beast::http::empty_body>(answer.base());
}

std::optional<ino_t> inodeOf(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? std::optional(status.st_ino) : std::nullopt;
}

/// What to say to bytes that are no request of ours; nullopt: nothing, the connection is gone.
std::optional<Response> complaintOf(const error_code& error) {
  using Http = beast::http::error;
  if (error == Http::header_limit || error == Http::buffer_overflow)
    return Response{431, "the request's headers are larger than 8 KiB\n"};
  if (error == Http::body_limit) return Response{413, "a request here has no body\n"};
  if (error == Http::end_of_stream || error == Http::partial_message) return std::nullopt;
  if (error.category() == beast::http::make_error_code(Http::bad_method).category())
    return Response{400, "this is no HTTP request\n"};
  return std::nullopt;
}

}  // namespace

class Server::Core final : public std::enable_shared_from_this<Core> {
 public:
  Core(asio::io_context& loop, Routes routes) : loop_(loop), routes_(std::move(routes)) {}

  Result<Address> listen(const Address& address) {
    address_ = address;
    return address.isUnix()
               ? listenAt(asio::local::stream_protocol::endpoint(address.path), local_)
               : listenAt(asio::ip::tcp::endpoint(asio::ip::make_address(address.host), address.port), tcp_);
  }

  void close() {
    error_code ignored;
    if (tcp_) tcp_->close(ignored);
    if (local_) local_->close(ignored);
    if (local_ && inodeOf(address_.path) == inode_) ::unlink(address_.path.c_str());
    for (const ConnectionPtr& each : connections_) each->close();
  }

 private:
  struct Connection {
    std::function<void()> close;
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  template <class Protocol>
  Result<Address> listenAt(const typename Protocol::endpoint& endpoint,
                           std::optional<asio::basic_socket_acceptor<Protocol>>& acceptor) {
    acceptor.emplace(loop_);
    error_code error;
    acceptor->open(endpoint.protocol(), error);
    if (!error && !address_.isUnix()) acceptor->set_option(asio::socket_base::reuse_address(true), error);
    if (!error && address_.isUnix()) removeAbandoned();
    if (!error) acceptor->bind(endpoint, error);
    if (!error && address_.isUnix()) {
      inode_ = inodeOf(address_.path);
      ::chmod(address_.path.c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP);
    }
    if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      acceptor.reset();
      const Errc code = error == boost::system::errc::permission_denied ? Errc::permissionDenied : Errc::unavailable;
      return Error{code, address_.text() + ": " + error.message()};
    }
    if constexpr (std::is_same_v<Protocol, asio::ip::tcp>) address_.port = acceptor->local_endpoint().port();
    asio::co_spawn(loop_, accept<Protocol>(shared_from_this(), *acceptor), asio::detached);
    return address_;
  }

  /// Removes the socket of a process that was killed: it does not answer.
  void removeAbandoned() {
    struct stat status {};
    if (::lstat(address_.path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    asio::local::stream_protocol::socket probe(loop_);
    error_code error;
    probe.connect(asio::local::stream_protocol::endpoint(address_.path), error);
    if (error == boost::system::errc::connection_refused) ::unlink(address_.path.c_str());
  }

  template <class Protocol>
  static asio::awaitable<void> accept(std::shared_ptr<Core> self, asio::basic_socket_acceptor<Protocol>& acceptor) {
    asio::steady_timer rest(self->loop_);
    while (acceptor.is_open()) {
      auto [error, socket] = co_await acceptor.async_accept(asTuple);
      if (error == asio::error::operation_aborted || !acceptor.is_open()) co_return;
      if (error) {
        rest.expires_after(afterFailure);
        co_await rest.async_wait(asTuple);
        continue;
      }
      try {
        self->admit(beast::basic_stream<Protocol>(std::move(socket)));
      } catch (const std::bad_alloc&) {  // this connection is lost, and the next one may come
      }
    }
  }

  /// Where too many are connected the one that was quiet longest is closed: a stranger who holds connections open
  /// keeps no client out.
  template <class Stream>
  void admit(Stream stream) {
    if (connections_.size() >= mostConnections) {
      connections_.front()->close();
      connections_.pop_front();
    }
    const auto shared = std::make_shared<Stream>(std::move(stream));
    const auto close = [weak = std::weak_ptr<Stream>(shared)] {
      if (const auto open = weak.lock()) open->close();
    };
    const auto connection = std::make_shared<Connection>(Connection{close});
    connections_.push_back(connection);
    asio::co_spawn(loop_, serve(shared_from_this(), shared, connection), asio::detached);
  }

  void wasActive(const ConnectionPtr& connection) {
    const auto found = std::ranges::find(connections_, connection);
    if (found != connections_.end()) connections_.splice(connections_.end(), connections_, found);
  }

  template <class Stream>
  static asio::awaitable<void> serve(std::shared_ptr<Core> self, std::shared_ptr<Stream> stream,
                                     ConnectionPtr connection) {
    beast::flat_buffer buffer(longestRequest);
    for (int count = 1; count <= mostRequests; ++count) {
      Parser parser;
      parser.header_limit(longestRequest);
      parser.body_limit(0);
      stream->expires_after(patience);
      const auto [error, size] = co_await beast::http::async_read_header(*stream, buffer, parser, asTuple);
      self->wasActive(connection);
      std::optional<Response> response;
      if (error) response = complaintOf(error);
      if (error && !response) break;
      const bool isHead = !error && parser.get().method() == beast::http::verb::head;
      const bool isKnown = isHead || (!error && parser.get().method() == beast::http::verb::get);
      const bool staysOpen = isKnown && parser.keep_alive() && !hasBody(parser) && count < mostRequests;
      if (!error) {
        const auto ask = [self, &parser](auto handler) { self->route(parser.get(), std::move(handler)); };
        response =
            co_await asio::async_initiate<const asio::use_awaitable_t<>, void(Response)>(ask, asio::use_awaitable);
      }
      const Answer answer = answerOf(*response, error ? 11 : parser.get().version(), staysOpen);
      stream->expires_after(patience);
      error_code failed;
      if (isHead) {
        const auto head = headersOf(answer);
        failed = std::get<0>(co_await beast::http::async_write(*stream, head, asTuple));
      } else {
        failed = std::get<0>(co_await beast::http::async_write(*stream, answer, asTuple));
      }
      if (failed || !staysOpen) break;
    }
    error_code ignored;
    stream->socket().shutdown(asio::socket_base::shutdown_send, ignored);
    stream->expires_after(farewell);
    for (std::size_t rest = 0; rest < longestFarewell;) {
      buffer.clear();
      const auto [over, size] = co_await stream->async_read_some(buffer.prepare(longestRequest), asTuple);
      if (over) break;
      rest += size;
    }
    self->connections_.remove(connection);
  }

  static bool hasBody(const Parser& parser) { return parser.chunked() || parser.content_length().value_or(0) > 0; }

  template <class Handler>
  void route(const Parser::value_type& request, Handler handler) {
    const auto waiting = std::make_shared<std::optional<Handler>>(std::move(handler));
    const auto respond = [this, waiting](Response response) {
      if (!*waiting) return;  // answered
      asio::post(loop_, [own = *std::exchange(*waiting, std::nullopt), response = std::move(response)]() mutable {
        std::move(own)(std::move(response));
      });
    };
    const std::string_view target(request.target().data(), request.target().size());
    const std::string_view host(request[beast::http::field::host].data(), request[beast::http::field::host].size());
    const auto found = routes_.find(target.substr(0, target.find('?')));
    if (request.chunked()) return respond({413, "a request here has no body\n"});
    if (request.version() >= 11 && request.count(beast::http::field::host) != 1)
      return respond({400, "one Host header is expected\n"});
    if (isForeignHost(host, address_) && !host.empty())
      return respond({421, "this server is for its own machine: expected localhost or an IP address as Host\n"});
    const bool isAsked = request.method() == beast::http::verb::get || request.method() == beast::http::verb::head;
    if (!isAsked && request.method() != beast::http::verb::options)
      return respond({405, "only GET, HEAD and OPTIONS are answered\n"});
    if (found == routes_.end()) return respond({404, "there is nothing here; there is" + paths() + "\n"});
    if (!isAsked) return respond({204, {}});
    try {
      found->second(Request{std::string(request[beast::http::field::accept])}, respond);
    } catch (...) {  // out of memory: the election must not end with it
      respond({500, "no answer could be made\n"});
    }
  }

  std::string paths() const {
    std::string text;
    for (const auto& [path, route] : routes_) text += (text.empty() ? " " : ", ") + path;
    return text;
  }

  asio::io_context& loop_;
  const Routes routes_;
  Address address_;
  std::optional<ino_t> inode_;  // of the socket in the file system
  std::optional<asio::ip::tcp::acceptor> tcp_;
  std::optional<asio::local::stream_protocol::acceptor> local_;
  std::list<ConnectionPtr> connections_;  // the one that was quiet longest first
};

Server::Server(asio::io_context& loop, Routes routes) : core_(std::make_shared<Core>(loop, std::move(routes))) {}
Server::~Server() { core_->close(); }
Result<Address> Server::listen(const Address& address) { return core_->listen(address); }

}  // namespace tenure::telemetry
