/// A queue that keeps messages for a later time, and one replica that reads it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {

using namespace std::chrono_literals;

inline std::vector<std::string> idsOf(const std::vector<Message>& messages) {
  std::vector<std::string> ids;
  for (const Message& message : messages) ids.push_back(message.id.value);
  return ids;
}

class ScheduledSuite : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override { lead(ends_, term_); }
  static void lead(const Replica& replica, const Term& term) {
    ASSERT_THAT(replica.store->claim(term), succeeds());
    ASSERT_THAT(replica.source->attach(term), succeeds());
  }

  static WallTime now() { return systemClock().wallNow(); }
  static NewMessage timed(const std::string& id, WallTime at, const std::string& body = "body") {
    return {
        .id = MessageId{id}, .group = GroupId{"group"}, .body = body, .headers = {{"kind", "late"}}, .deliverAt = at};
  }
  Result<void> send(const std::vector<NewMessage>& messages) { return sink_->append(messages); }
  std::vector<Message> look() { return ends_.source->fetch(100, BootClock::now(), {}).value(); }
  /// The next ones, however long that takes.
  std::vector<Message> await() { return ends_.source->fetch(100, BootClock::now() + 30s, {}).value(); }
  std::unique_ptr<IFencedTransaction> begin() { return ends_.store->begin(term_).value(); }
  std::vector<std::string> waiting(const ScheduledFilter& filter = {}) {
    std::vector<std::string> ids;
    EXPECT_THAT(scheduled_->list(filter,
                                 [&](const NewMessage& message) {
                                   ids.push_back(message.id.value);
                                   return true;
                                 }),
                succeeds());
    return ids;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  Replica ends_ = world_->open();
  std::unique_ptr<IMessageSink> sink_ = world_->sink();
  std::unique_ptr<ScheduledMessages> scheduled_ = world_->scheduled();
  const TestTerm term_{7};
};

inline std::vector<Backend> keepingScheduled() { return with(&Backend::keepsScheduled, sourceBackends()); }

}  // namespace tenure::test
