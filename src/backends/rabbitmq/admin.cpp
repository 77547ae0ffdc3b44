#include "tenure/spi/admin.hpp"

#include <algorithm>

#include "backends/rabbitmq/inspection.hpp"
#include "backends/rabbitmq/queue.hpp"

namespace tenure::rabbitmq {
namespace {

class Admin final : public IQueueAdmin {
 public:
  explicit Admin(Options options) : options_(std::move(options)) {}

  Result<Findings> inspect() override { return rabbitmq::inspect(options_); }
  Result<QueueStats> stats() override {
    if (Result<void> valid = validate(options_); !valid) return valid.error();
    auto connection = Connection::open(options_, "tenure looks at " + options_.queue);
    if (!connection) return connection.error();
    QueueStats stats;
    const std::string owner = ownerOf(**connection, options_.queue).value_or("");
    constexpr std::string_view between = " at ";
    const std::size_t end = std::min(owner.find(between), owner.size());
    stats.election = owner.substr(0, end);
    stats.path = owner.substr(std::min(end + between.size(), owner.size()));
    const Result<QueueCounts> counts = (*connection)->inspect(Channel::work, options_.queue);
    if (!counts) return counts.error();
    stats.waiting = counts->ready;
    if (const Result<void> closed = (*connection)->close(); !closed) return closed.error();
    return stats;
  }
  Result<QueueIdentity> identity() override {
    if (Result<void> valid = validate(options_); !valid) return valid.error();
    const auto connection = Connection::open(options_, "tenure asks which broker this is");
    if (!connection) return connection.error();
    QueueIdentity identity = identityIn(**connection, options_);
    if (const Result<void> closed = (*connection)->close(); !closed) return closed.error();
    return identity;
  }
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override {
    if (Result<void> valid = validate(options_); !valid) return valid;
    auto connection = Connection::open(options_, "tenure moves " + options_.queue);
    if (!connection) return connection.error();
    if (const Result<void> moved =
            replaceOwner(**connection, options_.queue, {from.election.value, from.path}, {to.election.value, to.path});
        !moved)
      return moved;
    return (*connection)->close();
  }
  /// To get a message and give it back would count as a delivery, and may put it out of order.
  Result<void> peek(std::size_t, const std::function<void(const Message&)>&) override {
    return Error{
        Errc::unsupported,
        "RabbitMQ shows a message only to who takes it, and taking one would disturb the order of the leader's;"
        " `tenure queue stats` counts them, and `tenure queue failing --queue URL --store URL` names those that failed "
        "or"
        " are postponed"};
  }

 private:
  Options options_;
};

}  // namespace

Result<std::unique_ptr<IQueueAdmin>> openAdmin(const Options& options) {
  if (Result<void> valid = validate(options); !valid) return valid.error();
  return std::unique_ptr<IQueueAdmin>(std::make_unique<Admin>(options));
}

}  // namespace tenure::rabbitmq
