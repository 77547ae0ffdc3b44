/// What every fenced store must do, whatever keeps its data. Shared by the files of this suite.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/backends.hpp"
#include "support/events.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::test {

inline const ConsumerName consumer{"ledger"};

inline Message messageWith(const std::string& id, const std::string& body = "body") {
  Message message;
  message.id = MessageId{id};
  message.body = body;
  return message;
}

class StoreSuite : public testing::TestWithParam<Backend> {
 protected:
  /// A replica that leads: its claim is in the store.
  struct Leader {
    std::shared_ptr<IFencedStore> store;
    TestTerm term;
  };

  std::shared_ptr<IFencedStore> openStore() { return world_->open().store; }

  Leader leaderWith(std::int64_t token) { return leader(TestTerm(token)); }
  Leader leader(TestTerm term) {
    Leader leader{openStore(), std::move(term)};
    EXPECT_THAT(leader.store->claim(leader.term), succeeds());
    return leader;
  }

  static std::unique_ptr<IFencedTransaction> begin(const Leader& leader) {
    return leader.store->begin(leader.term).value();
  }
  static Result<void> put(const Leader& leader, const std::string& key, const std::string& value) {
    auto transaction = begin(leader);
    if (Result<void> written = transaction->put(key, value); !written) return written;
    return transaction->commit();
  }
  static std::optional<std::string> get(const Leader& leader, const std::string& key) {
    return begin(leader)->get(key).value();
  }
  static Result<Admission> admit(const Leader& leader, const std::string& id, const std::string& body = "body",
                                 MessageFate fate = MessageFate::done) {
    auto transaction = begin(leader);
    Result<Admission> admission = transaction->admit(consumer, MessageId{id}, digestOf(body), fate);
    if (admission) {
      EXPECT_THAT(transaction->commit(), succeeds());
    }
    return admission;
  }

  std::unique_ptr<BackendWorld> world_ = GetParam().make();
};

}  // namespace tenure::test
