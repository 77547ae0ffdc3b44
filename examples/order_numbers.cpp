// Order events that arrive out of order take effect in order: each carries its number, and what comes early waits.
//
//     order_numbers HOST:PORT[,HOST:PORT…] FILE
//
// FILE is the queue and the store, in which an early event waits, whatever happens to the replicas. The producer gives
// the numbers here, as with a broker; a sink that is opened with `numbered` gives them itself, without gaps.
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/sqlite.hpp>

namespace {

tenure::NewMessage event(const std::string& order, int number, const std::string& state) {
  return {.id = {order + "/" + std::to_string(number)},
          .group = {order},
          .body = state,
          .headers = {{std::string(tenure::numberHeader), std::to_string(number)}}};
}

// As several producers and a broker that redelivers may leave them; one comes twice.
void produce(const tenure::sqlite::Options& file) {
  const std::vector<tenure::NewMessage> events = {event("order-1", 3, "shipped"),  event("order-1", 1, "created"),
                                                  event("order-2", 2, "paid"),     event("order-1", 3, "shipped"),
                                                  event("order-2", 1, "created"),  event("order-1", 2, "paid"),
                                                  event("order-1", 4, "received"), event("order-2", 3, "refunded")};
  tenure::sqlite::openSink(file).value()->append(events).value();
}

tenure::Outcome tell(const tenure::Delivery& delivery) {
  std::cout << delivery.message.group.value << " is " << delivery.message.body << std::endl;
  return tenure::Outcome::done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: order_numbers HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "order-numbers";
  options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
  const tenure::sqlite::Options file{.file = argv[2]};
  tenure::ConsumerOptions numbers;
  numbers.followNumbers = true;
  numbers.gapLimit = std::chrono::seconds{10};  // then the log tells of it

  try {
    produce(file);
    const auto log = tenure::makeLogSink();  // to standard error
    tenure::sqlite::Database database(file, *log);
    tenure::Consumer consumer(database.source(), database.store(), tell, numbers, *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
