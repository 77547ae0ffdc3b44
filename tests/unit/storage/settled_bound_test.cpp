/// A look at the waiting room begins where nothing appears any more, and never further.
#include "storage/scheduled/settled_bound.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/random.hpp"

namespace tenure::scheduled {
namespace {

// shows: send/look-begins-behind
TEST(SettledBound, BeginsAtTheFrontUntilAllThatMayAppearIsSeen) {
  SettledBound bound;
  bound.looked(5, 100);
  bound.began(101);
  bound.saw(9);
  EXPECT_EQ(bound.begin(), 0);

  bound.looked(std::nullopt, 101);
  EXPECT_EQ(bound.begin(), 0) << "a transaction older than ours may still run";

  bound.looked(std::nullopt, 102);
  EXPECT_EQ(bound.begin(), 5) << "of what came behind 5, nothing is known yet";

  bound.began(110);
  bound.looked(std::nullopt, 111);
  EXPECT_EQ(bound.begin(), 9);
}

// shows: send/look-begins-behind
TEST(SettledBound, NeverPassesAMessageThatIsThere) {
  SettledBound bound;
  bound.saw(9);
  bound.began(101);

  bound.looked(4, 102);
  EXPECT_EQ(bound.begin(), 3);
  bound.looked(7, 103);
  EXPECT_EQ(bound.begin(), 6);
  bound.looked(std::nullopt, 104);
  EXPECT_EQ(bound.begin(), 9);
}

/// Senders whose transactions take their numbers, draw places and end in any order, beside a reader.
class SendersRoom {
 public:
  explicit SendersRoom(std::uint64_t seed) : random_(seed) {}

  void step() {
    switch (random_.below(6)) {
      case 0: open_.push_back({nextTransaction_++, {}}); break;
      case 1:
      case 2:
        if (!open_.empty()) open_[random_.below(open_.size())].places.push_back(++lastPlace_);
        break;
      case 3:
        if (!open_.empty()) end(random_.below(open_.size()));
        break;
      default: read();
    }
  }
  void finish() {
    while (!open_.empty()) end(open_.size() - 1);
    for (int i = 0; i < 1000 && !there_.empty(); ++i) read();
    EXPECT_TRUE(there_.empty());
  }
  std::int64_t begin() const { return bound_.begin(); }
  std::int64_t lastPlace() const { return lastPlace_; }

 private:
  struct Transaction {
    std::int64_t number;
    std::vector<std::int64_t> places;
  };

  void end(std::size_t which) {
    if (random_.below(4) != 0) {
      for (const std::int64_t place : open_[which].places) {
        ASSERT_GT(place, bound_.begin()) << "it appears where no look comes any more";
        there_.insert(place);
      }
    }
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  /// A look, and in most cases a transaction that takes some of what it saw.
  void read() {
    std::int64_t oldest = nextTransaction_;
    for (const Transaction& each : open_) oldest = std::min(oldest, each.number);
    const auto first = there_.upper_bound(bound_.begin());
    bound_.looked(first == there_.end() ? std::nullopt : std::optional(*first), oldest);
    if (there_.empty() && random_.below(2) == 0) return;
    bound_.began(nextTransaction_++);
    const std::size_t most = 1 + random_.below(4);
    for (std::size_t taken = 0; taken < most; ++taken) {
      const auto next = there_.upper_bound(bound_.begin());
      if (next == there_.end()) break;
      bound_.saw(*next);
      there_.erase(next);
    }
  }

  Random random_;
  SettledBound bound_;
  std::int64_t nextTransaction_ = 1;
  std::int64_t lastPlace_ = 0;
  std::vector<Transaction> open_;
  std::set<std::int64_t> there_;
};

// shows: send/behind-snapshot-stays, send/look-begins-behind
TEST(SettledBound, NothingAppearsBehindItInWhateverOrderTransactionsEnd) {
  std::int64_t passed = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SendersRoom room(seed);
    for (int i = 0; i < 300; ++i) room.step();
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    passed += room.begin();
    room.finish();
  }
  EXPECT_GT(passed, 300 * 20) << "and it goes on";
}

}  // namespace
}  // namespace tenure::scheduled
