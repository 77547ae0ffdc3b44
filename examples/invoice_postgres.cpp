// Orders come in through RabbitMQ, invoices go out into PostgreSQL, numbered without a gap: what the tax office
// wants, and what two writers at a time, or one message twice, would break.
//
//     invoice_postgres HOST:PORT[,HOST:PORT…] BROKER-PORT
//
// PostgreSQL is found as psql finds it (PGHOST, PGPORT, PGUSER, …); the broker's password is in
// TENURE_RABBITMQ_PASSWORD. `examples/run invoice_postgres` starts all three servers and this program.
#include <charconv>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/postgresql.hpp>
#include <tenure/rabbitmq.hpp>

namespace {

void order(const tenure::rabbitmq::Options& broker) {
  std::vector<tenure::NewMessage> orders;
  for (const auto& [id, customer, cents] : {std::tuple{"order-1", "Ada", "1250"},
                                            {"order-2", "Robert'); DROP TABLE invoice; --", "990"},
                                            {"order-3", "Ada", "40"},
                                            {"order-1", "Ada", "1250"}})  // its producer was not sure, and asks again
    orders.push_back({.id = {id}, .group = {customer}, .body = cents, .headers = {}});
  tenure::rabbitmq::openSink(broker).value()->append(orders).value();
}

// Runs inside the fenced transaction. The broker hears of it only after the commit and may send the message again: its
// id is in the same commit as the invoice, so that there is one. Values travel apart from the SQL, as they are.
tenure::Outcome invoice(const tenure::Delivery& delivery) {
  const tenure::SqlParameter order[] = {{":customer", delivery.message.group.value}, {":cents", delivery.message.body}};
  tenure::ISqlStatements& sql = *delivery.transaction.sql();
  sql.execute("CREATE TABLE IF NOT EXISTS invoice(number bigint PRIMARY KEY, customer text, cents bigint)").value();
  const auto written = sql.execute(
                              "INSERT INTO invoice SELECT coalesce(max(number), 0) + 1, :customer, :cents FROM invoice"
                              " RETURNING number, cents",
                              order)
                           .value();
  std::cout << "invoice " << std::get<std::int64_t>(written[0][0]) << ": " << std::get<std::int64_t>(written[0][1])
            << " cents from " << delivery.message.group.value << std::endl;
  return tenure::Outcome::done();
}

std::uint16_t portFrom(std::string_view text) {
  std::uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  if (read.ec == std::errc{} && read.ptr == text.data() + text.size() && port > 0) return port;
  throw std::invalid_argument("BROKER-PORT must be 1 to 65535, not " + std::string(text));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: invoice_postgres HOST:PORT[,HOST:PORT…] BROKER-PORT\n";
    return 64;
  }
  try {
    tenure::CandidateOptions options;
    options.zookeeper.hosts = argv[1];
    options.election = "invoices";
    options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
    tenure::rabbitmq::Options broker;
    broker.port = portFrom(argv[2]);
    broker.queue = "orders";
    const tenure::postgresql::Options database;  // all of it is psql's

    tenure::postgresql::applySchema(database).value();  // Tenure's own tables; nothing where they are
    order(broker);
    const auto log = tenure::makeLogSink();  // to standard error
    const auto source = tenure::rabbitmq::makeSource(broker, *log);
    tenure::postgresql::Database effects(database, *log);
    tenure::Consumer consumer(*source, effects.store(), invoice, {}, *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::exception& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
