/// GET of a server that listens on a socket in the file system.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <string>

namespace tenure::test {

struct HttpAnswer {
  int status = 0;  // 0: nobody answered
  std::string body{};
};

inline HttpAnswer httpGet(const std::string& socketPath, const std::string& target) {
  namespace asio = boost::asio;
  asio::io_context loop;
  asio::local::stream_protocol::socket socket(loop);
  boost::system::error_code error;
  socket.connect(asio::local::stream_protocol::endpoint(socketPath), error);
  if (error) return {};
  asio::write(socket, asio::buffer("GET " + target + " HTTP/1.0\r\n\r\n"), error);
  std::string answer;
  asio::read(socket, asio::dynamic_buffer(answer), error);
  const std::size_t end = answer.find("\r\n\r\n");
  if (answer.size() < 12 || end == std::string::npos) return {};
  return {std::stoi(answer.substr(9, 3)), answer.substr(end + 4)};
}

}  // namespace tenure::test
