/// examples/order_service.py keeps its promise where it, its sessions and the leader are killed: the row of an order
/// and the effect of its message are both there, once, or neither is.
#include <set>

#include "base/random.hpp"
#include "process/tool/cli/replica.hpp"
#include "support/postgres_server.hpp"

namespace tenure::test {
namespace {

using testing::HasSubstr;

struct Order {
  std::string id;
  int cents = 0;
};

std::string linesOf(const std::vector<Order>& orders) {
  std::string lines;
  for (const Order& order : orders) lines += order.id + ' ' + std::to_string(order.cents) + '\n';
  return lines;
}

/// All who send orders to the service and read its answers.
class Customers {
 public:
  /// Every seventh order costs less than nothing, which the table refuses after the message was sent.
  explicit Customers(int count) {
    for (int i = 1; i <= count; ++i) open_.push_back({"o-" + std::to_string(i), i % 7 == 0 ? -i : i});
  }

  const std::vector<Order>& open() const { return open_; }
  const std::set<std::string>& taken() const { return taken_; }

  /// The service died. Some answers do not arrive, so those orders are sent again; the order that it was working on is
  /// sent again or given up.
  void hear(const std::string& answers, Random& random) {
    auto answered = open_.begin();
    while (answered != open_.end() && isAnswered(*answered, answers)) ++answered;
    if (answered != open_.end() && random.below(2) == 0) answered = open_.erase(answered);
    for (auto lost = random.below(3); lost > 0 && answered != open_.begin(); --lost) --answered;
    open_.erase(open_.begin(), answered);
  }

 private:
  bool isAnswered(const Order& order, const std::string& answers) {
    const bool taken = answers.find("taken " + order.id + '\n') != std::string::npos;
    const bool refused = answers.find("refused " + order.id + ": new row") != std::string::npos;
    EXPECT_FALSE(order.cents > 0 ? refused : taken) << order.id << " in\n" << answers;
    if (taken) taken_.insert(order.id);
    return taken || refused;
  }

  std::vector<Order> open_;
  std::set<std::string> taken_;
};

class OrderService : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    world_.ask(
        "CREATE TABLE orders(id text PRIMARY KEY, cents int CHECK (cents > 0));"
        "CREATE TABLE invoices(n int GENERATED ALWAYS AS IDENTITY, order_id text, cents int);"
        "GRANT ALL ON orders, invoices TO " +
        world_.role());
  }
  std::string url(const std::string& role) const {
    return "postgresql://" + role + "@127.0.0.1:" + std::to_string(PostgresServer::shared().port()) + "/postgres";
  }
  std::string shop() const { return url(world_.role()); }

  /// The service with these orders, its answers in a file of its own.
  Program serve(const std::vector<Order>& orders, const std::string& shop) {
    const std::string name = "service-" + std::to_string(++services_);
    write(name + ".orders", linesOf(orders));
    // Debian's Python, because Debian's packages are for that one.
    return {{"/usr/bin/python3", std::string(TENURE_SOURCE_DIR) + "/examples/order_service.py"},
            at(name),
            {"SHOP=" + shop},
            at(name + ".orders")};
  }
  std::string answersTo(const std::vector<Order>& orders, const std::string& shop, int exit = 0) {
    Program service = serve(orders, shop);
    EXPECT_EQ(exitOf(service), exit) << service.output();
    return service.output();
  }

  PostgresWorld world_;

 private:
  int services_ = 0;
};

/// With two replicas that write an invoice for each order.
class InvoicedOrders : public OrderService {
 protected:
  void SetUp() override {
    OrderService::SetUp();
    for (int i = 0; i < 2; ++i) startReplica();
  }
  void TearDown() override {
    if (!HasFailure()) return;
    for (const auto& replica : replicas_) std::cerr << replica->output() << '\n';
  }

  void startReplica() {
    const std::string name = "replica-" + std::to_string(++started_);
    const std::string invoice = "INSERT INTO invoices(order_id, cents) VALUES (:group, (:body::json->>'cents')::int)";
    const Arguments arguments{"--queue", shop() + "?queue=invoices", "--id", name, "--sql", invoice};
    replicas_.push_back(std::make_unique<Program>(start(inElection("consume", arguments), name)));
  }
  void awaitLeader() {
    ASSERT_TRUE(eventually([&] { return leader() != replicas_.end(); }));
  }
  void killTheLeader() {
    (*leader())->signal(SIGKILL);
    replicas_.erase(leader());
    startReplica();
  }

  /// Orders without exactly one invoice, and invoices without an order.
  std::string disagreements() const {
    return world_.ask(
        "SELECT coalesce(string_agg(coalesce(id, order_id) || ' has ' || coalesce(n, 0) || ' invoices', ', '), '')"
        "  FROM orders FULL JOIN (SELECT order_id, cents, count(*) AS n FROM invoices GROUP BY 1, 2) AS invoice"
        "  ON invoice.order_id = id AND invoice.cents = orders.cents WHERE id IS NULL OR n IS DISTINCT FROM 1");
  }

 private:
  using Replicas = std::vector<std::unique_ptr<Program>>;
  Replicas::iterator leader() {
    return std::find_if(replicas_.begin(), replicas_.end(), [](const std::unique_ptr<Program>& replica) {
      return replica->output().find(" inaugurated ") != std::string::npos;
    });
  }

  Replicas replicas_;
  int started_ = 0;
};

// shows: send/row-effect-both
TEST_F(InvoicedOrders, HaveARowAndOneInvoiceOrNeitherWhicheverProcessIsKilled) {
  const std::uint64_t seed = freshSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::cout << "seed " << seed << '\n';
  Random random(seed);
  Customers customers(500);
  for (int kills = 1; kills <= 20; ++kills) {
    if (kills % 5 == 0) awaitLeader();
    Program service = serve(customers.open(), shop());
    ASSERT_TRUE(service.waitForOutput("\n", 1 + random.below(12))) << service.output();
    if (kills % 4 == 0) world_.endConnections();
    if (kills % 5 == 0) killTheLeader();
    service.signal(SIGKILL);
    service.waitForEnd();
    customers.hear(service.output(), random);
  }
  const std::vector<Order> lastWords{{"last", 1}};

  Program service = serve(customers.open(), shop());
  EXPECT_EQ(exitOf(service), 0) << service.output();
  EXPECT_EQ(answersTo(lastWords, shop()), "taken last\n");

  // It is the last in the order of its sender, so whatever was sent before has had its effect.
  EXPECT_TRUE(eventually([&] { return world_.ask("SELECT 1 FROM invoices WHERE order_id = 'last'") == "1"; }));
  EXPECT_TRUE(eventually([&] { return disagreements().empty(); })) << disagreements();
  customers.hear(service.output(), random);
  for (const std::string& id : customers.taken())
    EXPECT_EQ(world_.ask("SELECT count(*) FROM orders WHERE id = '" + id + "'"), "1") << id << " was answered";
}

// shows: send/row-effect-both
TEST_F(OrderService, MayBeSentTheSameOrderAgainAndRefusesAnotherUnderItsId) {
  EXPECT_EQ(answersTo({{"o-1", 4990}, {"o-1", 4990}}, shop()), "taken o-1\ntaken o-1\n");
  EXPECT_EQ(world_.ask("SELECT string_agg(convert_from(id, 'UTF8'), ',') FROM tenure_waiting"), "o-1-invoice");
  EXPECT_THAT(answersTo({{"o-1", 5000}}, shop()), HasSubstr("refused o-1: "));

  world_.ask("DELETE FROM tenure_waiting");  // as the leader does
  EXPECT_EQ(answersTo({{"o-1", 5000}}, shop()), "refused o-1: it was taken before, for 4990 cents\n");
  EXPECT_EQ(world_.ask("SELECT count(*) FROM tenure_waiting"), "0");
}

// shows: send/row-effect-both
TEST_F(OrderService, RepeatsAnOrderWhoseConnectionWasLost) {
  PostgresSession other = world_.session();
  other.ask("BEGIN; LOCK TABLE orders");
  Program service = serve({{"o-1", 1}}, shop());
  ASSERT_TRUE(eventually([&] { return world_.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") == "1"; }));

  world_.endConnections();

  ASSERT_TRUE(service.waitForOutput("order_service: repeats o-1: ")) << service.output();
  other.ask("COMMIT");
  EXPECT_EQ(exitOf(service), 0);
  EXPECT_THAT(service.output(), HasSubstr("\ntaken o-1\n"));
  EXPECT_EQ(world_.ask("SELECT count(*) FROM orders NATURAL JOIN (SELECT 1 FROM tenure_waiting) AS message"), "1");
}

// shows: send/row-effect-both
TEST_F(OrderService, TellsWhatIsMissing) {
  EXPECT_THAT(answersTo({}, "", 1), HasSubstr("expected SHOP=postgresql://"));
  EXPECT_THAT(answersTo({}, "postgresql://shop@127.0.0.1:1/shop", 1), HasSubstr("cannot begin: "));
  EXPECT_THAT(answersTo({{"o-1", 1}}, url("superuser"), 1), HasSubstr("function tenure_send"));
  EXPECT_THAT(answersTo({{"o-1", 1}}, "sqlite:" + at("empty.db"), 1), HasSubstr("no such table: tenure_waiting"));
  EXPECT_EQ(answersTo({{"o 1", 1}}, shop()), "refused o 1 1: expected an id and a number of cents\n");
}

// shows: send/row-effect-both
TEST_F(OrderService, DoesTheSameOnSqlite) {
  ASSERT_EQ(tenure({"schema", "apply", "--store", "sqlite:" + at("shop.db")}).exit, 0);
  sql("CREATE TABLE orders(id TEXT PRIMARY KEY, cents INT CHECK (cents > 0))", "shop.db");

  const std::string answers = answersTo({{"o-1", 1}, {"o-2", -1}, {"o-1", 1}, {"o-1", 2}}, "sqlite:" + at("shop.db"));

  EXPECT_EQ(answers,
            "taken o-1\nrefused o-2: CHECK constraint failed: cents > 0\ntaken o-1\n"
            "refused o-1: it was taken before, for 1 cents\n");
  EXPECT_EQ(sql("SELECT group_concat(id) FROM orders", "shop.db"), "o-1");
  EXPECT_EQ(sql("SELECT group_concat(id) FROM tenure_waiting", "shop.db"), "o-1-invoice");
}

}  // namespace
}  // namespace tenure::test
