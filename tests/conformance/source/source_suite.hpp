/// What every message source and its sink must do, whatever keeps the queue. Shared by the files of this suite.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {

inline NewMessage messageWith(const std::string& id, const std::string& body = "body") {
  return {MessageId{id}, GroupId{"group"}, body, {}};
}

inline std::vector<std::string> idsOf(const std::vector<Message>& messages) {
  std::vector<std::string> ids;
  for (const Message& message : messages) ids.push_back(message.id.value);
  return ids;
}

class SourceSuite : public testing::TestWithParam<Backend> {
 protected:
  /// A replica that leads that has taken the queue.
  struct Consumer {
    Replica ends;
    TestTerm term;
    IMessageSource& source() const { return *ends.source; }
  };

  void produce(const std::vector<std::string>& ids) {
    std::vector<NewMessage> messages;
    for (const std::string& id : ids) messages.push_back(messageWith(id));
    EXPECT_THAT(sink_->append(messages), succeeds());
  }

  Consumer consumerWith(std::int64_t token) {
    Consumer consumer{world_->open(), TestTerm(token)};
    if (consumer.ends.store) {
      EXPECT_THAT(consumer.ends.store->claim(consumer.term), succeeds());
    }
    EXPECT_THAT(consumer.source().attach(consumer.term), succeeds());
    return consumer;
  }

  /// What is there now.
  static std::vector<Message> look(const Consumer& consumer, std::size_t max = 100) {
    return consumer.source().fetch(max, BootClock::now(), {}).value();
  }
  /// What comes within the time that a slow machine may need.
  static std::vector<Message> await(const Consumer& consumer, std::size_t max = 100) {
    return consumer.source().fetch(max, BootClock::now() + std::chrono::seconds{30}, {}).value();
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
  std::unique_ptr<IMessageSink> sink_ = world_->sink();
};

}  // namespace tenure::test
