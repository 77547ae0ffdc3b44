/// What a program opens by URL: any scheme whose component it lists, and no other.
#include "tenure/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/program.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"
#include "tenure/postgresql.hpp"
#include "tenure/rabbitmq.hpp"
#include "tenure/redis.hpp"
#include "tenure/sqlite.hpp"
#include "tenure/zookeeper.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<Component>& everything() {
  static const std::vector<Component> all{sqlite::component(), postgresql::component(), redis::component(),
                                          rabbitmq::component(), zookeeper::component()};
  return all;
}

std::string refusal(const std::string& url, const std::vector<Component>& components = everything()) {
  const auto place = open(url, components);
  return place ? "it is accepted" : place.error().message();
}

/// With a password for whoever needs one before it is reached.
class Opened : public testing::Test {
 protected:
  Opened() {
    std::ofstream(folder_ / "password") << "tiger\n";
    std::ofstream(folder_ / "authority") << "-----BEGIN CERTIFICATE-----\n";
  }
  std::string withPassword(const std::string& url) const {
    return url + "password-file=" + (folder_ / "password").string();
  }

  TemporaryFolder folder_;
};

TEST_F(Opened, AFileIsQueueAndStoreInOne) {
  const auto place = open("sqlite:" + (folder_ / "shop.db").string() + "?queue=orders", {sqlite::component()}).value();
  const auto [source, store] = place->open();
  ASSERT_TRUE(source && store);
  ASSERT_TRUE(source->sharesTransactionsWith(*store));
  const NewMessage order{MessageId{"order"}, {}, "a pear", {}};
  ASSERT_THAT(place->sink().value()->append({&order, 1}), succeeds());
  const TestTerm term(7);

  ASSERT_THAT(store->claim(term), succeeds());
  ASSERT_THAT(source->attach(term), succeeds());

  const auto messages = source->fetch(10, BootClock::now(), {}).value();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].body, "a pear");
  EXPECT_EQ(place->queueAdmin().value()->stats().value().waiting, 1);
  EXPECT_EQ(place->storeAdmin()->fenceRows().value().size(), 1U);
}

// shows: operations/program-opens-url
TEST_F(Opened, EachSchemeHasItsEndsBeforeItsServerIsReached) {
  struct Expected {
    std::string url;
    bool queue;
    bool store;
  };
  const std::vector<Expected> all{
      {"sqlite:" + (folder_ / "x.db").string(), true, true},
      {withPassword("postgresql://db.invalid/shop?"), true, true},
      {withPassword("redis://cache.invalid/0?"), true, true},
      {withPassword("amqp://broker.invalid/?"), true, false},
      {withPassword("amqps://broker.invalid/?tls-authority=" + (folder_ / "authority").string() + "&"), true, false},
      {"zookeeper://zk.invalid:2181/shop", false, true}};
  for (const Expected& expected : all) {
    const auto place = open(expected.url, everything());
    ASSERT_TRUE(place) << expected.url << ": " << place.error().message();
    const IPlace::Ends ends = (*place)->open();
    EXPECT_EQ(ends.source != nullptr, expected.queue) << expected.url;
    EXPECT_EQ(ends.store != nullptr, expected.store) << expected.url;
    EXPECT_EQ((*place)->storeAdmin() != nullptr, expected.store) << expected.url;
  }
}

TEST_F(Opened, AStoreAloneHasNoSink) {
  const auto place = open("zookeeper://zk.invalid:2181", everything()).value();

  EXPECT_THAT(place->sink(), failsWith(Errc::unsupported));
  EXPECT_THAT(place->queueAdmin(), failsWith(Errc::unsupported));
}

TEST(OpenRefuses, ASchemeThatNobodyKnowsWithThoseThatAreKnown) {
  EXPECT_THAT(open("oracle://db/shop", everything()), failsWith(Errc::unsupported));
  EXPECT_THAT(refusal("oracle://db/shop"),
              AllOf(HasSubstr("scheme \"oracle\""), HasSubstr("sqlite, postgresql, redis, amqp, amqps, zookeeper"),
                    Not(HasSubstr("component"))));
}

// shows: operations/program-opens-url
TEST(OpenRefuses, ASchemeOfAComponentThatIsNotListedWithItsName) {
  EXPECT_THAT(refusal("redis://cache/0", {sqlite::component()}),
              AllOf(HasSubstr("expected sqlite"), HasSubstr("tenure::redis::component()")));
  EXPECT_THAT(refusal("amqps://broker/", {}), HasSubstr("tenure::rabbitmq::component()"));
}

TEST(OpenRefuses, ABadParameterWithItsNameAndWhatWasExpected) {
  EXPECT_THAT(refusal("sqlite:x.db?lock-limit=soon"), AllOf(HasSubstr("lock-limit"), HasSubstr("a time from 1ms")));
  EXPECT_THAT(refusal("sqlite:x.db?colour=red"), AllOf(HasSubstr("\"colour\" is not known"), HasSubstr("lock-limit")));
  EXPECT_THAT(refusal("postgresql://db"), HasSubstr("names a database"));
  EXPECT_THAT(refusal("x.db"), HasSubstr("it has no scheme"));
}

TEST(OpenRefuses, APasswordAndNeverRepeatsIt) {
  const std::string refused = refusal("postgresql://scott:tiger-7@db/shop");

  EXPECT_THAT(refused, AllOf(HasSubstr("password-file=FILE"), Not(HasSubstr("tiger"))));
}

TEST(OpenRefuses, APasswordFileThatCannotBeRead) {
  EXPECT_THAT(refusal("redis://cache/0?password-file=/nowhere/secret"), HasSubstr("password-file: no password"));
}

}  // namespace
}  // namespace tenure::test
