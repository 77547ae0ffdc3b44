// Orders that are paid in time, or cancelled: the transaction that books the payment takes the timeout back.
//
//     order_timeout HOST:PORT[,HOST:PORT…] FILE
//
// FILE is both the queue and the book of orders. Every start sends the same six orders, and a payment for each after
// the time in `customers`. An order is paid or cancelled, never both, whatever happens to the replicas; a payment that
// comes too late is refunded.
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/sqlite.hpp>

namespace {

using namespace std::chrono_literals;

constexpr auto timeToPay = 2s;
constexpr std::chrono::milliseconds customers[] = {200ms, 1'900ms, 1'990ms, 2'000ms, 2'010ms, 3s};

tenure::MessageId timeoutOf(const std::string& order) { return {order + "/timeout"}; }

void produce(const tenure::sqlite::Options& file) {
  const auto now = tenure::systemClock().wallNow();
  std::vector<tenure::NewMessage> events;
  for (int i = 1; const auto taken : customers) {
    const std::string order = "order-" + std::to_string(i++);
    events.push_back({.id = {order + "/created"}, .group = {order}, .body = "created"});
    events.push_back({.id = {order + "/paid"}, .group = {order}, .body = "paid", .deliverAt = now + taken});
  }
  const auto sink = tenure::sqlite::openSink(file).value();
  for (const tenure::NewMessage& event : events)
    if (const auto sent = sink->append({&event, 1});
        !sent && !sent.error().is(tenure::Errc::alreadyScheduled) && !sent.error().is(tenure::Errc::alreadyDone))
      sent.value();  // throws; alreadyScheduled and alreadyDone tell of an earlier start
}

void book(tenure::ISqlStatements& sql, const std::string& order, const std::string& state) {
  const tenure::SqlParameter entry[] = {{":order", order}, {":state", state}};
  sql.execute("CREATE TABLE IF NOT EXISTS book(n INTEGER PRIMARY KEY, item TEXT, state TEXT)").value();
  sql.execute("INSERT INTO book(item, state) VALUES(:order, :state)", entry).value();
  std::cout << order << " is " << state << std::endl;
}

tenure::Outcome handle(const tenure::Delivery& delivery) {
  tenure::Transaction& transaction = delivery.transaction;
  const std::string& order = delivery.message.group.value;
  if (delivery.message.body == "created") {
    const auto due = tenure::systemClock().wallNow() + timeToPay;
    transaction.enqueue({.id = timeoutOf(order), .group = {order}, .body = "cancelled", .deliverAt = due}).value();
  }
  const bool isTooLate = delivery.message.body == "paid" &&
                         transaction.cancelScheduled(timeoutOf(order)).value() != tenure::ScheduleChange::done;
  book(*transaction.sql(), order, isTooLate ? "refunded" : delivery.message.body);
  return tenure::Outcome::done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: order_timeout HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "order-timeout";
  options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
  const tenure::sqlite::Options file{.file = argv[2]};

  try {
    produce(file);
    const auto log = tenure::makeLogSink();  // to standard error
    tenure::sqlite::Database database(file, *log);
    tenure::Consumer consumer(database.source(), database.store(), handle, {}, *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
