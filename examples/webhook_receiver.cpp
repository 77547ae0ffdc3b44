/// Receives the calls of `tenure consume --webhook`, and refuses what is forged, old, or of a leader that is none any
/// more.
///
///   webhook_receiver PORT SECRET_FILE
///
/// The order is kept in memory here; keep it with your data, and write both in one transaction.
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <tenure/webhook.hpp>

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

/// The highest token of each election, the last number of each group, and the calls that were handled.
class Orders {
 public:
  /// Nullopt: handle it. Else the status to answer.
  std::optional<http::status> judge(const tenure::WebhookCall& call) {
    if (!call.token) return http::status::bad_request;
    tenure::FencingToken& highest = tokens_[call.election];
    if (*call.token < highest) return http::status::conflict;  // a former leader's: the message is the present one's
    highest = *call.token;
    if (handled_.contains(call.id)) return http::status::ok;  // the call came before, and its answer was lost
    const auto last = numbers_.find({call.election, call.group});
    if (!call.number || last == numbers_.end()) return std::nullopt;
    if (*call.number <= last->second) return http::status::conflict;  // a later one of its group is handled
    if (*call.number > last->second + 1) std::cerr << "a number of group " << call.group << " is missing" << std::endl;
    return std::nullopt;
  }
  void handled(const tenure::WebhookCall& call) {
    handled_.insert(call.id);
    if (call.number) numbers_[{call.election, call.group}] = *call.number;
  }

 private:
  std::map<std::string, tenure::FencingToken> tokens_;
  std::map<std::pair<std::string, std::string>, std::int64_t> numbers_;
  std::set<std::string> handled_;
};

http::status answerTo(const http::request<http::string_body>& request, const std::vector<std::string>& secrets,
                      Orders& orders) {
  tenure::Headers headers;
  for (const auto& field : request) headers.emplace_back(field.name_string(), field.value());
  const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto call = tenure::verifyWebhook(headers, request.body(), secrets, now);
  if (!call) return http::status::unauthorized;
  if (const auto other = orders.judge(*call)) return *other;
  std::cout << call->id << " " << request.body() << std::endl;  // your work
  orders.handled(*call);
  return http::status::ok;
}

int main(int argc, char** argv) try {
  if (argc != 3) throw std::runtime_error("usage: webhook_receiver PORT SECRET_FILE");
  std::vector<std::string> secrets;
  std::ifstream file(argv[2]);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("whsec_")) secrets.push_back(line);
  boost::asio::io_context loop;
  tcp::acceptor acceptor(
      loop, {boost::asio::ip::make_address("127.0.0.1"), static_cast<boost::asio::ip::port_type>(std::stoi(argv[1]))});
  Orders orders;
  for (;;) {
    boost::beast::tcp_stream stream(acceptor.accept());
    boost::beast::flat_buffer buffer;
    boost::system::error_code error;
    http::request<http::string_body> request;
    http::read(stream, buffer, request, error);
    if (error) continue;
    http::response<http::empty_body> response(answerTo(request, secrets, orders), request.version());
    response.keep_alive(false);  // the receiver serves one caller at a time
    response.prepare_payload();
    http::write(stream, response, error);
  }
} catch (const std::exception& problem) {
  std::cerr << problem.what() << "\n";
  return 1;
}
