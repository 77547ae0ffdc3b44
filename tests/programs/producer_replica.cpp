/// A service with a producer that kills itself at a chosen step.
///
///   producer_replica to=URL spool=FILE life=N accepted=FILE diary=FILE [kill="after spool" at=N] [otherwise=N]
///                    [messages=N]
///
/// life      counts the processes; part of each id, so that those of a later process are behind those of an earlier one
/// accepted  the ids that were accepted as spooled or stored, a line each
/// messages  how many each thread sends, 400 unless it says otherwise
///
/// The queue goes away for some batches again and again, and loses the answers to others.
#include <fcntl.h>
#include <unistd.h>

#include <deque>
#include <future>
#include <thread>

#include "programs/arguments.hpp"
#include "programs/kill_switch.hpp"
#include "support/forwarding_spool.hpp"
#include "tenure/open.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/producer.hpp"
#include "tenure/sqlite.hpp"

namespace {

using namespace tenure;
using namespace tenure::test;
using namespace std::chrono_literals;

constexpr int threads = 4;  // each with a group of its own
constexpr std::size_t unanswered = 20;

class KillSpool final : public ForwardingSpool {
 public:
  KillSpool(std::unique_ptr<ISpool> inner, KillSwitch& kill) : ForwardingSpool(std::move(inner)), kill_(kill) {}

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    return kill_.around("spool", [&] { return ForwardingSpool::append(messages, sent); });
  }
  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
    return kill_.around("read", [&] { return ForwardingSpool::read(from, messages, bytes); });
  }
  Result<void> settle(std::span<const SpoolSettlement> settlements) override {
    return kill_.around("settle", [&] { return ForwardingSpool::settle(settlements); });
  }

 private:
  KillSwitch& kill_;
};

/// Of each 40 batches 15 are not taken, and of the others each 7th is stored without an answer.
class KillSink final : public IMessageSink {
 public:
  KillSink(std::unique_ptr<IMessageSink> inner, KillSwitch& kill, int& batches)
      : inner_(std::move(inner)), kill_(kill), batches_(batches) {}

  Result<void> append(std::span<const NewMessage> messages) override {
    const int batch = batches_++;
    if (batch % 40 >= 25) return Error{Errc::unavailable, "the queue is away"};
    const Result<void> stored = kill_.around("publish", [&] { return inner_->append(messages); });
    if (stored && batch % 7 == 6) return Error{Errc::outcomeUnknown, "the answer is lost"};
    return stored;
  }

 private:
  const std::unique_ptr<IMessageSink> inner_;
  KillSwitch& kill_;
  int& batches_;  // across sinks; the producer has one thread that sends
};

class Service {
 public:
  Service(Producer& producer, KillSwitch& kill, const Arguments& arguments)
      : producer_(producer),
        kill_(kill),
        life_(arguments.text("life")),
        messages_(arguments.number("messages", 400)),
        accepted_(::open(arguments.text("accepted").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}

  void run() {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back([this, i] { sendGroup(i); });
  }

 private:
  struct Sent {
    std::string id;
    std::future<Result<void>> answer;
  };

  void sendGroup(int group) {
    std::deque<Sent> sent;
    for (int i = 1; i <= messages_; ++i) {
      const std::string id = life_ + "-" + std::to_string(group) + "-" + std::to_string(i);
      const Durability durability = i % 5 == 0   ? Durability::memory
                                    : i % 3 == 0 ? Durability::stored
                                                 : Durability::spooled;
      auto answer = kill_.around("send", [&] {
        return producer_.send({MessageId{id}, GroupId{std::to_string(group)}, id, {}}, {.durability = durability});
      });
      if (answer && durability != Durability::memory) sent.push_back({id, std::move(*answer)});
      while (sent.size() > unanswered) take(sent);
    }
    while (!sent.empty()) take(sent);
  }

  void take(std::deque<Sent>& sent) {
    Sent first = std::move(sent.front());
    sent.pop_front();
    if (!first.answer.get()) return;
    const std::string line = first.id + "\n";
    if (::write(accepted_, line.data(), line.size()) < 0) ::_exit(1);
  }

  Producer& producer_;
  KillSwitch& kill_;
  const std::string life_;
  const int messages_;
  const int accepted_;
};

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments(argc, argv);
  KillSwitch kill(arguments.text("kill"), arguments.number("at", 1), arguments.number("otherwise", 1'000'000),
                  arguments.text("diary"));
  const auto to = tenure::open(arguments.text("to"), {sqlite::component(), postgresql::component()}).value();
  auto spool = kill.around("open", [&] { return sqlite::openSpool({.file = arguments.text("spool")}).value(); });
  int batches = 0;
  const Producer::OpenSink openSink = [&]() -> Result<std::unique_ptr<IMessageSink>> {
    auto sink = to->sink();
    if (!sink) return sink;
    return std::unique_ptr<IMessageSink>(std::make_unique<KillSink>(*std::move(sink), kill, batches));
  };
  ProducerOptions options;
  options.batchMessages = 16;
  options.maxMessages = 200;
  options.onOverload = Overload::spill;
  options.spillAfter = 5ms;
  options.retryBase = options.retryMax = 2ms;
  Producer producer(openSink, std::make_unique<KillSpool>(std::move(spool), kill), options);
  Service(producer, kill, arguments).run();
  const bool isLast = arguments.text("kill").empty();
  const Result<void> closed = kill.around("close", [&] { return producer.close(isLast ? 60s : 5ms); });
  return closed && producer.figures().spooled == 0 ? 0 : 1;
}
