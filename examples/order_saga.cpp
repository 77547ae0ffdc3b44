// An order, its payment and its shipment: three steps over three queues, of which two are in a broker, in programs that
// may die at any moment. Every step happens once, and a customer's in their order.
//
//     order_saga HOST:PORT[,HOST:PORT…] FILE amqp://USER@HOST:PORT
//
//     `orders` in FILE ──► order ──┐    ┌─────► `payments` in RabbitMQ ──► payment ──┐
//                                  ▼    │                                            │
//                      `outgoing` in FILE ──► `shipments` in RabbitMQ ──► shipment   │
//                                  ▲                                                 │
//                                  └─────────────────────────────────────────────────┘
//
// A step's row and its message to the next step are one transaction in FILE, so there are both or neither. A relay then
// publishes the message at least once. Its id follows from the id before it: what comes twice is known, and dropped.
//
// Each replica stands in four elections: three consumers and the relay. The broker's password is in
// TENURE_RABBITMQ_PASSWORD. `examples/run order_saga` starts the servers and this program.
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/open.hpp>
#include <tenure/rabbitmq.hpp>
#include <tenure/sqlite.hpp>

namespace {

struct Step {
  std::string name;
  std::string queue;
  const Step* next;
};
const Step shipment{"shipment", "shipments", nullptr};
const Step payment{"payment", "payments", &shipment};
const Step order{"order", "orders", &payment};

// Every start sends the same orders; those that were sent before are dropped.
void produce(tenure::IMessageSink& orders) {
  std::vector<tenure::NewMessage> messages;
  for (int i = 1; i <= 24; ++i) {
    const std::string name = "order-" + std::to_string(i);
    messages.push_back({.id = {name}, .group = {"customer-" + std::to_string(i % 8)}, .body = name});
  }
  orders.append(messages).value();
}

tenure::Outcome take(const Step& step, const tenure::Delivery& delivery) {
  const tenure::Message& message = delivery.message;
  const tenure::SqlParameter row[] = {
      {":item", message.body}, {":customer", message.group.value}, {":step", step.name}};
  tenure::ISqlStatements& sql = *delivery.transaction.sql();
  sql.execute("CREATE TABLE IF NOT EXISTS history(n INTEGER PRIMARY KEY, item TEXT, customer TEXT, step TEXT)").value();
  sql.execute("INSERT INTO history(item, customer, step) VALUES(:item, :customer, :step)", row).value();
  std::cout << message.body << " of " << message.group.value << ": " << step.name << std::endl;
  if (step.next == nullptr) return tenure::Outcome::done();
  const tenure::NewMessage next{.id = {message.body + "/" + step.next->name},
                                .group = message.group,
                                .body = message.body,
                                .headers = {{"tenure-routing-key", step.next->queue}}};  // where the relay publishes it
  delivery.transaction.enqueue(next, "outgoing").value();
  return tenure::Outcome::done();
}

tenure::Handler handlerOf(const Step& step) {
  return [&step](const tenure::Delivery& delivery) { return take(step, delivery); };
}

tenure::CandidateOptions inElection(const std::string& name, const std::string& zookeeper) {
  tenure::CandidateOptions options;
  options.zookeeper.hosts = zookeeper;
  options.election = {"order-saga-" + name};
  options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: order_saga HOST:PORT[,HOST:PORT…] FILE amqp://USER@HOST:PORT\n";
    return 64;
  }
  const std::string zookeeper = argv[1];
  const std::string file = argv[2];
  const std::string broker = argv[3];

  try {
    produce(*tenure::sqlite::openSink({.file = file, .queue = order.queue}).value());
    const auto log = tenure::makeLogSink();  // to standard error

    // Queue and effects are one file here, and each commit has both.
    tenure::sqlite::Database orders({.file = file, .queue = order.queue}, *log);
    tenure::Consumer orderCareer(orders.source(), orders.store(), handlerOf(order), {}, *log);

    const auto payments = tenure::open(broker + "?queue=" + payment.queue, {tenure::rabbitmq::component()}).value();
    const auto paymentSource = payments->open(*log).source;
    tenure::sqlite::Database paymentEffects({.file = file}, *log);
    tenure::Consumer paymentCareer(*paymentSource, paymentEffects.store(), handlerOf(payment), {}, *log);

    const auto shipments = tenure::open(broker + "?queue=" + shipment.queue, {tenure::rabbitmq::component()}).value();
    const auto shipmentSource = shipments->open(*log).source;
    tenure::sqlite::Database shipmentEffects({.file = file}, *log);
    tenure::Consumer shipmentCareer(*shipmentSource, shipmentEffects.store(), handlerOf(shipment), {}, *log);

    const auto openBroker = [&] {
      auto sink = shipments->sink();  // opening a sink makes its queue; this one reaches both
      return sink ? payments->sink() : std::move(sink);
    };
    tenure::sqlite::Database outgoing({.file = file, .queue = "outgoing"}, *log);
    const tenure::ConsumerOptions asRelay{.delivery = tenure::Guarantee::atLeastOnce};
    tenure::Relay relayCareer(outgoing.source(), outgoing.store(), openBroker, asRelay, *log);

    tenure::Candidate orderCandidate(inElection("orders", zookeeper), orderCareer, *log);
    tenure::Candidate paymentCandidate(inElection("payments", zookeeper), paymentCareer, *log);
    tenure::Candidate shipmentCandidate(inElection("shipments", zookeeper), shipmentCareer, *log);
    tenure::Candidate relayCandidate(inElection("relay", zookeeper), relayCareer, *log);
    return tenure::runUntilSignalled({&orderCandidate, &paymentCandidate, &shipmentCandidate, &relayCandidate});
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
