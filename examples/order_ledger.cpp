// A queue of order events becomes a ledger: each event once and in order, whatever happens to the replicas.
//
//     order_ledger HOST:PORT[,HOST:PORT…] FILE
//
// FILE is both the queue and the ledger. Every start appends the same five events, so that a second replica, or a
// second start, shows that an id which was done before is dropped.
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/sqlite.hpp>

namespace {

void produce(const tenure::sqlite::Options& file) {
  std::vector<tenure::NewMessage> events;
  for (const std::string state : {"created", "paid", "shipped", "received", "done"})
    events.push_back({.id = {"order-1/" + state}, .group = {"order-1"}, .body = state, .headers = {}});
  tenure::sqlite::openSink(file).value()->append(events).value();
}

// Runs inside the fenced transaction: what it writes is committed together with the message, or not at all. Once a
// newer leader has claimed the file, this one cannot commit any more, however late it wakes up.
tenure::Outcome book(const tenure::Delivery& delivery) {
  tenure::ISqlStatements& sql = *delivery.transaction.sql();
  const tenure::SqlParameter event[] = {{":order", delivery.message.group.value}, {":state", delivery.message.body}};
  sql.execute("CREATE TABLE IF NOT EXISTS ledger(n INTEGER PRIMARY KEY, item TEXT, state TEXT)").value();
  sql.execute("INSERT INTO ledger(item, state) VALUES(:order, :state)", event).value();
  const auto booked = sql.execute("SELECT count(*) FROM ledger").value();
  std::cout << delivery.message.group.value << " is " << delivery.message.body << ", event "
            << std::get<std::int64_t>(booked[0][0]) << " of the ledger" << std::endl;
  return tenure::Outcome::done();  // an exception, as from value(), would be a failed attempt: undone and tried again
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: order_ledger HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "order-ledger";
  options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
  const tenure::sqlite::Options file{.file = argv[2]};

  try {
    produce(file);
    const auto log = tenure::makeLogSink();  // to standard error
    tenure::sqlite::Database database(file, *log);
    tenure::Consumer consumer(database.source(), database.store(), book, {}, *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
