#include "cli/urls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

sqlite::Options accepted(std::string_view url) {
  auto options = parseQueueUrl(url);
  EXPECT_TRUE(options) << url << ": " << options.error().message();
  return options ? *options : sqlite::Options{};
}

Error refused(std::string_view url) {
  auto options = parseQueueUrl(url);
  EXPECT_FALSE(options) << url << " was accepted";
  return options ? Error{Errc::cancelled} : options.error();
}

TEST(QueueUrl, NamesAFileAndAQueue) {
  const sqlite::Options options = accepted("sqlite:data/orders.db?queue=orders");

  EXPECT_EQ(options.file, "data/orders.db");
  EXPECT_EQ(options.queue, "orders");
}

TEST(QueueUrl, WithoutAQueueItIsTheDefaultOne) { EXPECT_EQ(accepted("sqlite:/var/lib/orders.db").queue, "default"); }

TEST(QueueUrl, SetsLockLimitAndEviction) {
  const sqlite::Options options = accepted("sqlite:o.db?lock-limit=250ms&evict=no");

  EXPECT_EQ(options.lockLimit, 250ms);
  EXPECT_FALSE(options.evictFrozenHolder);
}

TEST(QueueUrl, PercentEscapesStandForBytes) { EXPECT_EQ(accepted("sqlite:what%3F%25%20now.db").file, "what?% now.db"); }

TEST(QueueUrl, RefusesAnEscapeThatIsNone) {
  for (const char* url : {"sqlite:a%", "sqlite:a%2", "sqlite:a%zz"})
    EXPECT_TRUE(refused(url).is(Errc::invalidArgument));
}

TEST(QueueUrl, RefusesWhatIsNoUrlAndSaysWhatWasExpected) {
  for (const char* url : {"", "orders.db", ":orders.db", "sqlite:", "sqlite:?queue=a", "sqlite://orders.db",
                          "sqlite:orders.db#top", "sqlite:orders%00.db"}) {
    const Error error = refused(url);
    EXPECT_TRUE(error.is(Errc::invalidArgument)) << url;
    EXPECT_THAT(error.detail, HasSubstr("sqlite:")) << url;
  }
}

TEST(QueueUrl, RefusesASchemeItDoesNotKnow) { EXPECT_TRUE(refused("mysql://host/db").is(Errc::unsupported)); }

TEST(QueueUrl, RefusesAParameterItDoesNotKnow) {
  EXPECT_THAT(refused("sqlite:o.db?qeue=a").detail, HasSubstr("\"qeue\" is not known: expected queue"));
}

TEST(QueueUrl, RefusesAParameterGivenTwiceOrWithoutAValue) {
  EXPECT_TRUE(refused("sqlite:o.db?queue=a&queue=b").is(Errc::invalidArgument));
  EXPECT_TRUE(refused("sqlite:o.db?queue").is(Errc::invalidArgument));
}

TEST(QueueUrl, RefusesAQueueNameThatIsNone) {
  for (const char* url :
       {"sqlite:o.db?queue=", "sqlite:o.db?queue=..", "sqlite:o.db?queue=a%2Fb", "sqlite:o.db?queue=a b"})
    EXPECT_TRUE(refused(url).is(Errc::invalidArgument)) << url;
}

TEST(QueueUrl, RefusesALockLimitOutOfRange) {
  for (const char* url : {"sqlite:o.db?lock-limit=5", "sqlite:o.db?lock-limit=0s", "sqlite:o.db?lock-limit=1h"})
    EXPECT_TRUE(refused(url).is(Errc::invalidArgument)) << url;
}

TEST(QueueUrl, RefusesAPasswordAndDoesNotRepeatIt) {
  for (const char* url :
       {"postgresql://shop:s3cret@db/orders", "sqlite://u:s3cret@h/o.db", "sqlite:o.db?password=s3cret",
        "sqlite:o.db#password=s3cret", "sqlite:o.db?queue=a?password=s3cret", "o.db?password=s3cret"}) {
    const Error error = refused(url);
    EXPECT_TRUE(error.is(Errc::configurationRefused)) << url;
    EXPECT_THAT(error.message(), HasSubstr("file or the environment"));
    EXPECT_THAT(error.message(), Not(HasSubstr("s3cret")));
  }
}

TEST(QueueUrl, EscapesWhatItRepeats) { EXPECT_THAT(refused("a\x1b[2J\nb").detail, HasSubstr("\\x1b[2J\\nb")); }

TEST(StoreUrl, NamesNoQueue) {
  EXPECT_EQ(parseStoreUrl("sqlite:ledger.db?lock-limit=1s").value().lockLimit, 1s);
  EXPECT_EQ(parseStoreUrl("sqlite:my&queue=.db").value().file, "my&queue=.db");
  for (const char* url : {"sqlite:o.db?queue=q", "sqlite:o.db?evict=no&queue=q",
                          "sqlite:o.db?"
                          "queue=default"})
    EXPECT_FALSE(parseStoreUrl(url)) << url;
}

}  // namespace
}  // namespace tenure::cli
