/// A small HTTP server on the control thread's loop, for health checks and metrics. It answers GET, HEAD and OPTIONS of
/// a fixed table of paths; what it cannot make sense of it refuses and closes.
///
///     accept ─► read a request (headers only) ─► its route ─► write ─► the next one of this connection
///
/// It shares the loop with the election, so that it answers only while the control loop turns. That bounds what a
/// stranger may cost: so many connections (of more, the one that was quiet longest is closed), 8 KiB a request, five
/// seconds for each read and write, so many requests a connection.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "telemetry/http/address.hpp"

namespace tenure::telemetry {

struct Response {
  int status = 200;
  std::string body{};
  std::string type = "text/plain; charset=utf-8";
};
struct Request {
  std::string accept{};  // the header
};
/// Answers once, within the call or later, on the loop.
using Respond = std::function<void(Response)>;
using Route = std::function<void(const Request& request, const Respond& respond)>;
using Routes = std::map<std::string, Route, std::less<>>;  // by path

/// Threads: the loop's.
class Server final {
 public:
  /// Borrows the loop, which must stop before anything that the routes refer to is destroyed.
  Server(boost::asio::io_context& loop, Routes routes);
  /// Closes the listener. Connections end with the loop.
  ~Server();

  /// Begins to listen. A socket in the file system is made anew where its server is gone, and may be used by the user
  /// and the group of this process.
  /// Returns where, with the port that the system has chosen.
  /// Errors:  unavailable (the address is in use or is not of this machine), permissionDenied
  Result<Address> listen(const Address& address);

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace tenure::telemetry
