/// Measures `tenure consume --webhook` as users run it, in lanes on SQLite, beside a plain loop of libcurl that posts
/// as many bodies to the same server of this process, unsigned and without a record; and with one endpoint of a hundred
/// dead, beside all of them alive.
///
///   webhook [--messages N] [--lanes N] [--ahead N] [--rounds N]
///
/// Each figure is of this run alone: the two take turns, and the ratios say how they compare.
#include <curl/curl.h>

#include <algorithm>
#include <atomic>
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "bench/help.hpp"
#include "support/ensemble.hpp"
#include "support/program.hpp"

namespace tenure::bench {
namespace {

using namespace std::chrono_literals;
using test::Program;
namespace asio = boost::asio;
namespace http = boost::beast::http;

struct Setting {
  std::int64_t messages = 20'000;
  std::int64_t lanes = 8;
  std::int64_t ahead = 16;
  std::int64_t rounds = 3;
};

constexpr const char* helpPage = R"(webhook - URLs that are called, beside a plain loop of libcurl

usage: webhook [--messages N] [--lanes N] [--ahead N] [--rounds N]

  --messages N  messages of a run (20000)
  --lanes N     lanes of the consumer (8)
  --ahead N     calls beside each other in a lane (16)
  --rounds N    runs of each (3))";

/// Answers 200 to everything, and counts.
class Server {
 public:
  Server() : acceptor_(loop_, {asio::ip::make_address("127.0.0.1"), 0}) {
    accept();
    thread_ = std::thread([this] { loop_.run(); });
  }
  ~Server() {
    loop_.stop();
    thread_.join();
  }

  std::string url(const std::string& path) const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + path;
  }
  std::int64_t calls() const { return calls_; }

 private:
  struct Connection : std::enable_shared_from_this<Connection> {
    Connection(Server& of, asio::ip::tcp::socket with) : server(of), stream(std::move(with)) {}
    void read() {
      request = {};
      http::async_read(stream, buffer, request,
                       [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                         if (!error) self->answer();
                       });
    }
    void answer() {
      ++server.calls_;
      response = {http::status::ok, request.version()};
      response.keep_alive(request.keep_alive());
      response.prepare_payload();
      http::async_write(stream, response, [self = shared_from_this()](boost::system::error_code error, std::size_t) {
        if (!error) self->read();
      });
    }

    Server& server;
    boost::beast::tcp_stream stream;
    boost::beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::response<http::empty_body> response;
  };

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code error, asio::ip::tcp::socket socket) {
      if (error) return;
      socket.set_option(asio::ip::tcp::no_delay(true));
      std::make_shared<Connection>(*this, std::move(socket))->read();
      accept();
    });
  }

  asio::io_context loop_;
  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
  std::atomic<std::int64_t> calls_ = 0;
};

class Bench {
 public:
  explicit Bench(const Setting& setting) : setting_(setting) {
    Program secret({tool(), "webhook", "secret"}, folder_ / "secret");
    secret.waitForEnd();
  }

  int run() {
    std::vector<double> bare;
    std::vector<double> ours;
    std::vector<double> alive;
    std::vector<double> oneDead;
    for (std::int64_t round = 0; round < setting_.rounds; ++round) {
      bare.push_back(plainLoop());
      ours.push_back(consumed(everyone()));
      alive.push_back(consumed(manyEndpoints(false)));
      oneDead.push_back(consumed(manyEndpoints(true)));
    }
    const auto median = [](std::vector<double> of) {
      std::ranges::sort(of);
      return of[of.size() / 2];
    };
    std::printf("plain libcurl loop            %9.0f a second\n", median(bare));
    std::printf("tenure, signed and recorded   %9.0f a second   %5.2f of it\n", median(ours),
                median(ours) / median(bare));
    std::printf("a hundred endpoints           %9.0f a second\n", median(alive));
    std::printf("one of them dead              %9.0f a second   %5.2f of it\n", median(oneDead),
                median(oneDead) / median(alive));
    return isWrong_ ? 1 : 0;
  }

 private:
  struct Load {
    std::string lines{};
    std::int64_t calls = 0;  // that reach the server
    std::vector<std::string> arguments;
  };

  Load everyone() const {
    Load load{.calls = setting_.messages, .arguments = {"--webhook", server_.url("/all")}};
    for (std::int64_t i = 0; i < setting_.messages; ++i)
      load.lines += R"({"id":"m-)" + std::to_string(i) + R"(","group":"g)" + std::to_string(i % 500) +
                    R"(","body":"order )" + std::to_string(i) + "\"}\n";
    return load;
  }
  Load manyEndpoints(bool hasDead) const {
    const std::string dead = "http://127.0.0.1:9/dead";  // the port of `discard`
    Load load{.arguments = {"--webhook-from", "header:notify", "--webhook-allow", server_.url("/"), "--webhook-allow",
                            "http://127.0.0.1:9/"}};
    for (std::int64_t i = 0; i < setting_.messages; ++i) {
      const bool isDead = hasDead && i % 100 == 0;
      load.calls += isDead ? 0 : 1;
      load.lines += R"({"id":"m-)" + std::to_string(i) + R"(","body":"order","headers":{"notify":")" +
                    (isDead ? dead : server_.url("/" + std::to_string(i % 100))) + "\"}}\n";
    }
    return load;
  }

  /// As many calls beside each other as the consumer makes.
  double plainLoop() {
    CURLM* const multi = curl_multi_init();
    const auto width = static_cast<std::size_t>(setting_.lanes * setting_.ahead);
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(width));
    const std::string url = server_.url("/bare");
    const std::string body = "order 12345";
    std::int64_t begun = 0;
    std::int64_t ended = 0;
    const auto begin = [&](CURL* easy) {
      curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body.c_str());
      curl_multi_add_handle(multi, easy);
      ++begun;
    };
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < width && begun < setting_.messages; ++i) begin(curl_easy_init());
    while (ended < setting_.messages) {
      int running = 0;
      curl_multi_perform(multi, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        CURL* const easy = message->easy_handle;
        ++ended;
        curl_multi_remove_handle(multi, easy);
        begun < setting_.messages ? begin(easy) : curl_easy_cleanup(easy);
      }
      if (ended < setting_.messages) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    curl_multi_cleanup(multi);
    return static_cast<double>(setting_.messages) / took.count();
  }

  /// From the first call to the last.
  double consumed(const Load& load) {
    const std::string number = std::to_string(++runs_);
    const std::string queue = "sqlite:" + (folder_ / ("run" + number + ".db")).string() + "?queue=calls";
    write("lines" + number, load.lines);
    Program producer({tool(), "produce", "--queue", queue, "--format", "jsonl"}, folder_ / ("produce" + number), {},
                     folder_ / ("lines" + number));
    producer.waitForEnd();
    std::vector<std::string> arguments{tool(),
                                       "consume",
                                       "--zookeeper",
                                       test::Ensemble::shared().hosts(),
                                       "--election",
                                       "bench.webhook" + number,
                                       "--queue",
                                       queue,
                                       "--lanes",
                                       std::to_string(setting_.lanes),
                                       "--webhook-ahead",
                                       std::to_string(setting_.ahead),
                                       "--webhook-allow-private",
                                       "--webhook-secret-file",
                                       (folder_ / "secret").string()};
    arguments.insert(arguments.end(), load.arguments.begin(), load.arguments.end());
    const std::int64_t before = server_.calls();
    Program replica(arguments, folder_ / ("consume" + number));
    const auto since = std::chrono::steady_clock::now();
    const auto waitFor = [&](std::int64_t calls) {
      while (server_.calls() - before < calls && std::chrono::steady_clock::now() - since < 3min)
        std::this_thread::sleep_for(1ms);  // house: may sleep
      return std::chrono::steady_clock::now();
    };
    const auto began = waitFor(1);
    const std::chrono::duration<double> took = waitFor(load.calls) - began;
    replica.signal(SIGTERM);
    replica.waitForEnd();
    if (server_.calls() - before < load.calls) {
      std::printf("%s", replica.output().c_str());
      isWrong_ = true;
    }
    return static_cast<double>(load.calls) / took.count();
  }
  void write(const std::string& name, const std::string& text) const {
    std::FILE* file = std::fopen((folder_ / name).c_str(), "w");
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  static std::string tool() { return std::string(TENURE_BINARY_DIR) + "/tenure"; }

  const Setting setting_;
  Server server_;
  test::TemporaryFolder folder_;
  int runs_ = 0;
  bool isWrong_ = false;
};

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) {
  using namespace tenure::bench;
  helpIfAsked(argc, argv, helpPage);
  Setting setting;
  forEachNumber(argc, argv, [&](const std::string& option, std::int64_t number) {
    if (option == "--messages") setting.messages = number;
    if (option == "--lanes") setting.lanes = number;
    if (option == "--ahead") setting.ahead = number;
    if (option == "--rounds") setting.rounds = number;
  });
  return Bench(setting).run();
}
