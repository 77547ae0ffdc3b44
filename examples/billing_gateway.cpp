// A gateway that takes billing events from its customers' connections and sends them to a queue. A customer is told
// "accepted" once the event cannot be lost: the queue has it, or the spool on this host's disk. So the queue may be
// slow or away for hours, and the gateway may be killed.
//
//     billing_gateway QUEUE-URL SPOOL ANSWERS [CONNECTIONS [EVENTS [RATE]]]
//
// QUEUE-URL is postgresql://…, amqp://…, redis://… or sqlite:…. SPOOL is a file that only this process uses. ANSWERS
// has a line for each event that was accepted. It stands for the customers, who remember it, and send all others again.
// Each of the CONNECTIONS (8) sends the events 1 to EVENTS (1000) of its account, RATE (100) a second.
// `examples/run billing_gateway` starts a broker and this program.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <tenure/candidate.hpp>
#include <tenure/open.hpp>
#include <tenure/postgresql.hpp>
#include <tenure/producer.hpp>
#include <tenure/rabbitmq.hpp>
#include <tenure/redis.hpp>
#include <tenure/sqlite.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;

tenure::ProducerOptions durable() {
  tenure::ProducerOptions options;
  options.durability = tenure::Durability::spooled;
  options.onOverload = tenure::Overload::spill;
  options.linger = 5ms;   // under load, the events of 5 ms share a commit
  options.retryMax = 2s;  // a queue that is back is found this soon
  return options;
}

class Answers {
 public:
  explicit Answers(const std::string& file) : file_(file, std::ios::app) {
    file_.exceptions(std::ios::failbit | std::ios::badbit);
    std::ifstream before(file);
    for (std::string id; std::getline(before, id);)
      last_[id.substr(0, id.rfind('/'))] = std::stoi(id.substr(id.rfind('/') + 1));
  }
  int lastOf(const std::string& account) const { return last_.contains(account) ? last_.at(account) : 0; }
  void accepted(const std::string& id) {
    const std::lock_guard lock(mutex_);
    file_ << id + '\n' << std::flush;
  }

 private:
  std::map<std::string, int> last_;  // when the gateway began
  std::mutex mutex_;
  std::ofstream file_;
};

// The id is made from what the event is, so it is the same when the customer sends it again. The number is for
// consumers that restore an account's order from it: RabbitMQ may store an event before one that it did not confirm.
tenure::NewMessage eventOf(const std::string& account, int number) {
  return {.id = {account + '/' + std::to_string(number)},
          .group = {account},
          .body = "call " + std::to_string(number) + ": 12 cents",
          .headers = {{std::string(tenure::numberHeader), std::to_string(number)}}};
}

// A customer's connection, with up to 64 events ahead of their answers. It ends with the first that is not accepted.
void serve(tenure::Producer& producer, Answers& answers, const std::string& account, int events, int rate) {
  std::deque<std::pair<std::string, std::future<tenure::Result<void>>>> open;
  const auto answer = [&](std::size_t ahead) {
    while (!open.empty() && (open.size() > ahead || open.front().second.wait_for(0s) == std::future_status::ready)) {
      const tenure::Result<void> accepted = open.front().second.get();
      if (!accepted) return std::cerr << open.front().first + ": " + accepted.error().message() + '\n', false;
      answers.accepted(open.front().first);
      open.pop_front();
    }
    return true;
  };
  auto next = std::chrono::steady_clock::now();
  for (int number = answers.lastOf(account) + 1; number <= events; ++number) {
    std::this_thread::sleep_until(next += 1'000'000us / rate);
    const tenure::NewMessage event = eventOf(account, number);
    auto sent = producer.send(event);  // waits where buffer and spool are full, and the customer with it
    while (!sent && sent.error().is(tenure::Errc::storeFull)) sent = producer.send(event);
    if (!sent) break;  // the gateway closes
    open.emplace_back(event.id.value, *std::move(sent));
    if (!answer(64)) return;
  }
  answer(0);
}

void tell(const tenure::ProducerFigures& now) {
  std::ostringstream line;
  line << "waiting=" << now.waiting << " spooled=" << now.spooled << " confirmed=" << now.confirmed
       << " refused=" << now.refused << " full_in=";
  now.timeToOverflow ? line << now.timeToOverflow->count() << 's' : line << "never";
  if (const auto why = now.lastError + now.spoolError; !why.empty()) line << " error=\"" << why << '"';
  std::cerr << line.str() + '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 7)
    return std::cerr << "usage: billing_gateway QUEUE-URL SPOOL ANSWERS [CONNECTIONS [EVENTS [RATE]]]\n", 64;
  sigset_t ends;  // taken by this thread between two figures; the others inherit that it is blocked
  sigemptyset(&ends);
  for (const int each : {SIGTERM, SIGINT}) sigaddset(&ends, each);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  try {
    const int connections = argc > 4 ? std::stoi(argv[4]) : 8;
    const int events = argc > 5 ? std::stoi(argv[5]) : 1000;
    const int rate = std::max(argc > 6 ? std::stoi(argv[6]) : 100, 1);
    const auto log = tenure::makeLogSink();  // to standard error
    const std::vector<tenure::Component> backends{tenure::postgresql::component(), tenure::rabbitmq::component(),
                                                  tenure::redis::component(), tenure::sqlite::component()};
    const auto queue = tenure::open(argv[1], backends).value();
    auto spool = tenure::sqlite::openSpool({.file = argv[2]}, *log).value();
    Answers answers(argv[3]);
    tenure::Producer producer([&] { return queue->sink(); }, std::move(spool), durable(), *log);
    std::cout << "begins with " << producer.figures().spooled << " events in the spool, sent first" << std::endl;

    std::atomic<int> busy = connections;
    std::vector<std::jthread> customers;
    for (int i = 1; i <= connections; ++i)
      customers.emplace_back([&, account = "account-" + std::to_string(i)] {
        serve(producer, answers, account, events, rate);
        --busy;
      });
    const timespec second{1, 0};
    while (busy > 0 && sigtimedwait(&ends, nullptr, &second) < 0) tell(producer.figures());

    const tenure::Result<void> closed = producer.close(5s);  // and spools the rest, before SIGKILL
    customers.clear();                                       // each has had its last answer
    std::cout << "ends with " << producer.figures().spooled << " events in the spool for the next start" << std::endl;
    if (!closed) std::cerr << closed.error().message() << '\n';  // the spool is full; customers send these again
    return static_cast<int>(closed ? tenure::ExitStatus::done : tenure::ExitStatus::aborted);
  } catch (const std::exception& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
