/// What a relay's database promises of a number whose message dies on its way: whoever follows numbers behind the relay
/// does not wait for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "support/events.hpp"
#include "support/postgres_server.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "support/sqlite_world.hpp"
#include "support/terms.hpp"
#include "tenure/consumer.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

/// A queue and a store of a relay, opened anew for each term.
struct SkippingPlace {
  std::unique_ptr<BackendWorld> world;
  std::function<Replica(IEventSink& events)> open;
};

template <class World, class Database>
SkippingPlace skippingIn() {
  auto world = std::make_unique<World>();
  World& place = *world;
  return {std::move(world), [&place](IEventSink& events) {
            auto options = place.options();
            options.numberWhenRead = options.skipDeadNumbers = true;
            const auto database = std::make_shared<Database>(options, events);
            return Replica{{database, &database->store()}, {database, &database->source()}};
          }};
}

/// A table of the user's, into which messages come as rows.
class TableWorld final : public PostgresWorld {
 public:
  TableWorld() {
    ask("SET ROLE " + role() + "; " + postgresql::outboxSql("outbox").value());
    options().table = postgresql::OutboxTable{.schema = role(), .name = "outbox"};
  }
  std::unique_ptr<IMessageSink> sink() override { return std::make_unique<RowSink>(*this); }

 private:
  class RowSink final : public IMessageSink {
   public:
    explicit RowSink(TableWorld& world) : world_(world) {}
    Result<void> append(std::span<const NewMessage> messages) override {
      for (const NewMessage& message : messages)
        world_.ask("INSERT INTO outbox(id, group_key, body) VALUES ('" + message.id.value + "', nullif('" +
                   message.group.value + "', ''), '" + message.body + "')");
      return {};
    }

   private:
    TableWorld& world_;
  };
};

struct SkippingKind {
  std::string name;
  std::function<SkippingPlace()> make;
  friend std::ostream& operator<<(std::ostream& out, const SkippingKind& kind) { return out << kind.name; }
};

/// Refuses some ids and passes the others on.
class PickySink final : public IMessageSink {
 public:
  PickySink(std::unique_ptr<IMessageSink> sink, const std::map<std::string, Error>& refused)
      : sink_(std::move(sink)), refused_(refused) {}
  Result<void> append(std::span<const NewMessage> messages) override { return sink_->append(messages); }
  std::vector<Result<void>> appendEach(std::span<const NewMessage> messages) override {
    std::vector<Result<void>> results;
    for (const NewMessage& message : messages) {
      const auto refused = refused_.find(message.id.value);
      results.push_back(refused == refused_.end() ? sink_->append({&message, 1}) : Result<void>(refused->second));
    }
    return results;
  }

 private:
  std::unique_ptr<IMessageSink> sink_;
  const std::map<std::string, Error>& refused_;
};

class SkippingSuite : public testing::TestWithParam<SkippingKind> {
 protected:
  void produce(const std::string& group, int count) {
    std::vector<NewMessage> messages;
    for (int i = 1; i <= count; ++i)
      messages.push_back({MessageId{group + std::to_string(i)}, GroupId{group}, "body", {}});
    ASSERT_THAT(place_.world->sink()->append(messages), succeeds());
  }
  /// Until so many messages are dead, and all others published.
  void relay(
      std::size_t dead, const std::function<void()>& meanwhile = [] {}) {
    const Replica ends = place_.open(events_);
    const TestTerm term(++token_);
    Relay relay(
        *ends.source, *ends.store,
        [this]() -> Result<std::unique_ptr<IMessageSink>> {
          return std::unique_ptr<IMessageSink>(std::make_unique<PickySink>(memory::openSink(target_), refused_));
        },
        options_, events_);
    relay.inaugurate(term);
    EXPECT_TRUE(eventually([&] {
      relay.execute(term);
      meanwhile();
      return letters().size() == dead && place_.world->admin()->stats().value().waiting == 0;
    }));
    term.requestStop();
    relay.execute(term);
    relay.handOver(term);
  }
  std::vector<std::string> letters() {
    std::vector<std::string> ids;
    for (const DeadLetter& letter : place_.world->admin()->deadLetters().value())
      ids.push_back(letter.message.id.value);
    return ids;
  }
  /// A consumer behind the relay; what its handler sees.
  std::vector<std::string> follow() {
    std::vector<std::string> handled;
    memory::Database database(target_, events_);
    const TestTerm term(++token_);
    const ConsumerOptions following{.idleWait = 10ms, .followNumbers = true};
    Consumer consumer(
        database.source(), database.store(),
        [&](const Delivery& delivery) {
          handled.push_back(delivery.message.id.value);
          return Outcome::done();
        },
        following, events_);
    consumer.inaugurate(term);
    for (int i = 0; i < 10 || !target_.waiting().empty(); ++i) consumer.execute(term);
    consumer.handOver(term);
    EXPECT_THAT(openAdmin(target_)->openGroups().value(), IsEmpty()) << "nobody waits";
    EXPECT_THAT(target_.deadLetters(), IsEmpty());
    return handled;
  }

  SkippingPlace place_ = GetParam().make();
  memory::World target_;
  std::map<std::string, Error> refused_;
  RecordedEvents events_;
  ConsumerOptions options_{.name = ConsumerName{"relay"}, .maxAttempts = 2, .retryBase = 1ms, .idleWait = 10ms};
  std::int64_t token_ = 0;
};

// shows: numbers/numbered-message-dies
TEST_P(SkippingSuite, AFollowerDoesNotWaitForWhatWasRejected) {
  produce("a", 4), produce("b", 2);
  refused_ = {{"a2", Error{Errc::payloadTooLarge, "too large"}}};

  relay(1);

  EXPECT_THAT(letters(), ElementsAre("a2"));
  EXPECT_THAT(follow(), UnorderedElementsAre("a1", "a3", "a4", "b1", "b2"));
  ASSERT_THAT(events_.of<MessageSkipped>(), SizeIs(1));
  EXPECT_EQ(events_.of<MessageSkipped>()[0].message, "a2/skip");
  EXPECT_THAT(events_.of<MessageSkipped>()[0].reason, testing::HasSubstr("too large"));
}

// shows: numbers/numbered-message-dies
TEST_P(SkippingSuite, NorForWhatWasOutOfAttemptsWithLanes) {
  options_.ordering = Ordering::perGroup(3);
  produce("a", 4), produce("b", 4), produce("c", 4);
  refused_ = {{"a1", Error{Errc::notFound, "no queue"}}, {"b4", Error{Errc::notFound, "no queue"}}};

  relay(2);

  EXPECT_THAT(letters(), UnorderedElementsAre("a1", "b4"));
  EXPECT_THAT(follow(), SizeIs(10));
  EXPECT_THAT(events_.of<MessageSkipped>(), SizeIs(2));
}

// shows: numbers/numbered-message-dies
TEST_P(SkippingSuite, NorForWhatAnOperatorReleased) {
  options_.onDead = OnDead::block;
  produce("a", 3);
  refused_ = {{"a2", Error{Errc::notFound, "no queue"}}};

  relay(1, [&] {
    if (!events_.of<QueueBlocked>().empty())
      static_cast<void>(place_.world->admin()->release(ConsumerName{"relay"}, MessageId{"a2"}));
  });

  EXPECT_THAT(follow(), ElementsAre("a1", "a3"));
}

TEST_P(SkippingSuite, ASkipIsNoDeadLetterAndIsTriedUntilItIsPublished) {
  produce("a", 2);
  const Error never{Errc::payloadTooLarge, "too large"};
  refused_ = {{"a1", never}, {"a1/skip", never}};

  relay(1, [this] {
    if (!events_.of<MessagePostponed>().empty()) refused_.erase("a1/skip");
  });

  EXPECT_THAT(letters(), ElementsAre("a1"));
  EXPECT_THAT(follow(), ElementsAre("a2"));
}

TEST_P(SkippingSuite, WhatHasNoGroupIsMissedByNobody) {
  ASSERT_THAT(place_.world->sink()->append(std::vector{NewMessage{MessageId{"m"}, {}, "body", {}}}), succeeds());
  refused_ = {{"m", Error{Errc::payloadTooLarge, "too large"}}};

  relay(1);

  EXPECT_THAT(target_.waiting(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Databases, SkippingSuite,
    testing::Values(SkippingKind{"sqlite", [] { return skippingIn<SqliteWorld, sqlite::Database>(); }},
                    SkippingKind{"postgresql", [] { return skippingIn<PostgresWorld, postgresql::Database>(); }},
                    SkippingKind{"table", [] { return skippingIn<TableWorld, postgresql::Database>(); }}),
    [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace tenure::test
