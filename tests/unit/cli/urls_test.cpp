#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/postgresql/url.hpp"
#include "backends/rabbitmq/url.hpp"
#include "backends/redis/url.hpp"
#include "backends/sqlite/url.hpp"
#include "backends/zookeeper/url.hpp"
#include "cli/options/backends.hpp"
#include "cli/options/options.hpp"
#include "support/results.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using test::failsWith;
using test::succeeds;
using testing::HasSubstr;
using testing::Not;

sqlite::Options acceptedUrl(std::string_view text) {
  const auto url = parseUrl(text);
  const auto options = url ? sqliteOptions(*url) : url.error();
  EXPECT_TRUE(options) << text << ": " << options.error().message();
  return options ? *options : sqlite::Options{};
}

Error refusedUrl(std::string_view url) {
  const auto backend = parseBackend(url);
  EXPECT_FALSE(backend) << url << " was accepted";
  return backend ? Error{Errc::cancelled} : backend.error();
}

TEST(Url, IsTakenApart) {
  const Url url = parseUrl("db://shop%40eu@[::1]:5433/or%20ders?queue=o&limit=1s").value();

  EXPECT_EQ(url.scheme, "db");
  EXPECT_EQ(url.user, "shop@eu");
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 5433);
  EXPECT_EQ(url.path, "/or ders");
  EXPECT_EQ(url.parameter("limit"), "1s");
  EXPECT_EQ(url.parameter("other"), "");
}

TEST(Url, NeedsNoAuthorityAndNoPort) {
  EXPECT_FALSE(parseUrl("sqlite:o.db").value().hasAuthority);
  EXPECT_EQ(parseUrl("db://host").value().host, "host");
  EXPECT_EQ(parseUrl("db://host?queue=a").value().port, std::nullopt);
  EXPECT_EQ(parseUrl("db:///path").value().path, "/path");
}

TEST(Url, RefusesAPortThatIsNone) {
  for (const char* url : {"db://h:0/", "db://h:65536", "db://h:x", "db://h:", "db://[::1/", "db://[::1]5"})
    EXPECT_TRUE(parseUrl(url).error().is(Errc::invalidArgument)) << url;
}

// shows: urls/server-list
TEST(Url, TakesAListOfServersWithAPortEach) {
  const Result<Url> url = parseUrl("postgresql://shop@h1:5432,h2,[::1]:5433/db?queue=q");
  ASSERT_THAT(url, succeeds());
  EXPECT_EQ(url->user, "shop");
  EXPECT_EQ(url->host, "h1:5432,h2,[::1]:5433");
  EXPECT_FALSE(url->port);
  EXPECT_EQ(url->path, "/db");
}

TEST(Url, RefusesAListWithAServerThatIsNone) {
  for (const char* url : {"postgresql://h1:5432,/db", "postgresql://,h1/db", "amqp://h1,h2:0/", "redis://h1:x,h2/0"})
    EXPECT_THAT(parseUrl(url), failsWith(Errc::invalidArgument)) << url;
}

// shows: urls/ampersand-first
TEST(Url, RefusesAParameterBehindAnAmpersandWhereAQuestionMarkBelongs) {
  for (const char* url : {"postgresql://h/shop&queue=orders", "redis://h/0&queue=orders", "amqp://h&queue=orders",
                          "sqlite:orders.db&queue=orders"}) {
    const auto refused = parseUrl(url);
    ASSERT_THAT(refused, failsWith(Errc::invalidArgument)) << url;
    EXPECT_THAT(refused.error().detail, HasSubstr("the first one follows a ?")) << url;
  }
  EXPECT_THAT(parseUrl("sqlite:a&b.db?queue=orders"), succeeds());
}

TEST(QueueUrl, NamesAFileAndAQueue) {
  const sqlite::Options options = acceptedUrl("sqlite:data/orders.db?queue=orders");

  EXPECT_EQ(options.file, "data/orders.db");
  EXPECT_EQ(options.queue, "orders");
}

TEST(QueueUrl, WithoutAQueueItIsTheDefaultOne) { EXPECT_EQ(acceptedUrl("sqlite:/var/lib/orders.db").queue, "default"); }

TEST(QueueUrl, SetsLockLimitAndEviction) {
  const sqlite::Options options = acceptedUrl("sqlite:o.db?lock-limit=250ms&evict=no");

  EXPECT_EQ(options.lockLimit, 250ms);
  EXPECT_FALSE(options.evictFrozenHolder);
}

TEST(QueueUrl, PercentEscapesStandForBytes) {
  EXPECT_EQ(acceptedUrl("sqlite:what%3F%25%20now.db").file, "what?% now.db");
}

TEST(QueueUrl, RefusesAnEscapeThatIsNone) {
  for (const char* url : {"sqlite:a%", "sqlite:a%2", "sqlite:a%zz"})
    EXPECT_TRUE(refusedUrl(url).is(Errc::invalidArgument));
}

TEST(QueueUrl, RefusesWhatIsNoUrlAndSaysWhatWasExpected) {
  for (const char* url : {"", "orders.db", ":orders.db", "sqlite:", "sqlite:?queue=a", "sqlite://orders.db",
                          "sqlite:orders.db#top", "sqlite:orders%00.db"}) {
    const Error error = refusedUrl(url);
    EXPECT_TRUE(error.is(Errc::invalidArgument)) << url;
    EXPECT_THAT(error.detail, HasSubstr("sqlite:")) << url;
  }
}

TEST(QueueUrl, RefusesASchemeItDoesNotKnow) { EXPECT_TRUE(refusedUrl("mysql://host/db").is(Errc::unsupported)); }

TEST(QueueUrl, RefusesAParameterItDoesNotKnow) {
  EXPECT_THAT(refusedUrl("sqlite:o.db?qeue=a").detail, HasSubstr("\"qeue\" is not known: expected queue"));
}

TEST(QueueUrl, RefusesAParameterGivenTwiceOrWithoutAValue) {
  EXPECT_TRUE(refusedUrl("sqlite:o.db?queue=a&queue=b").is(Errc::invalidArgument));
  EXPECT_TRUE(refusedUrl("sqlite:o.db?queue").is(Errc::invalidArgument));
}

TEST(QueueUrl, RefusesAQueueNameThatIsNone) {
  for (const char* url :
       {"sqlite:o.db?queue=", "sqlite:o.db?queue=..", "sqlite:o.db?queue=a%2Fb", "sqlite:o.db?queue=a b"})
    EXPECT_TRUE(refusedUrl(url).is(Errc::invalidArgument)) << url;
}

TEST(QueueUrl, RefusesALockLimitOutOfRange) {
  for (const char* url : {"sqlite:o.db?lock-limit=5", "sqlite:o.db?lock-limit=0s", "sqlite:o.db?lock-limit=1h"})
    EXPECT_TRUE(refusedUrl(url).is(Errc::invalidArgument)) << url;
}

TEST(QueueUrl, RefusesAPasswordAndDoesNotRepeatIt) {
  for (const char* url :
       {"postgresql://shop:s3cret@db/orders", "sqlite://u:s3cret@h/o.db", "sqlite:o.db?password=s3cret",
        "sqlite:o.db#password=s3cret", "sqlite:o.db?queue=a?password=s3cret", "o.db?password=s3cret",
        "host=db password = s3cret", "postgresql://db/o?sslpassword=s3cret", "sqlite:o.db?PWD=s3cret",
        "jdbc:postgresql://me:s3cret@db/o", "//me:s3cret@db/o", "postgresql://me@corp:12/s3cret@db/o",
        "postgresql://me:12?a=1&s3cret@db/o", "postgresql://me:12?s3cret=x@db/o", "redis://me:1@2/s3cret@cache",
        "redis://[::1]:6379/s3cret@cache", "amqp://mq:5672/me%3As3cret@mq"}) {
    const Error error = refusedUrl(url);
    EXPECT_TRUE(error.is(Errc::configurationRefused)) << url;
    EXPECT_THAT(error.message(), HasSubstr("file or the environment"));
    EXPECT_THAT(error.message(), Not(HasSubstr("s3cret")));
  }
}

TEST(QueueUrl, AnAtThatFollowsNoColonOrIsAParametersHidesNoPassword) {
  setenv("TENURE_RABBITMQ_PASSWORD", "of a broker", 1);
  for (const char* url :
       {"amqp://me@mq:5672/v?queue=a@b", "amqp://mq:5672/v?heartbeat=5s&queue=me:a@b", "redis://me@[::1]:6379/0",
        "postgresql://db/o@eu", "sqlite:me@home.db", "postgresql://me@db1,db2:5432/o", "sqlite:12%3A30%40home.db"})
    EXPECT_TRUE(parseBackend(url)) << url;
}

TEST(QueueUrl, RefusesANulByteHoweverItIsWritten) {
  for (const std::string_view url :
       {std::string_view("redis://ca\0che", 14), std::string_view("redis://cache?queue=%00")})
    EXPECT_THAT(refusedUrl(url).detail, HasSubstr("holds a NUL byte"));
}

TEST(QueueUrl, EscapesWhatItRepeats) {
  EXPECT_THAT(refusedUrl("sqlite:o.db?queue=\x1b[2J\nb").detail, HasSubstr("\\x1b[2J\\nb"));
}

TEST(QueueUrl, RepeatsNothingThatCouldBeAPieceOfAPassword) {
  for (const char* url :
       {"s3cret", "//s3cret", "s3 cret:x", "redis://me:s3cret", "redis://[s3cret", "sqlite:s3cret#", "sqlite:s3cret%",
        "sqlite:s3cret%00", "sqlite:o.db?s3cret", "sqlite:o.db?s3cret+=1", "sqlite:o.db?queue=s3%cret"})
    EXPECT_THAT(refusedUrl(url).message(), Not(HasSubstr("s3"))) << url;
}

TEST(StoreUrl, NamesNoQueue) {
  EXPECT_TRUE(parseStore("sqlite:ledger.db?lock-limit=1s"));
  EXPECT_TRUE(parseStore("sqlite:my%26queue=.db"));
  for (const char* url : {"sqlite:o.db?queue=q", "sqlite:o.db?evict=no&queue=q", "sqlite:o.db?queue=default"})
    EXPECT_FALSE(parseStore(url)) << url;
}

Wiring wired(const char* queue, const char* store) {
  return wire(parseBackend(queue).value(), parseStore(store).value()).value();
}

// shows: exactly-once/both-told-text
TEST(Wiring, TwoUrlsOfOneDatabaseShareTheirTransactions) {
  const Wiring one = wired("sqlite:./orders.db?queue=orders", "sqlite:orders.db");
  const Backend::Ends ends = one.open(noEvents());

  EXPECT_TRUE(one.isOneDatabase());
  EXPECT_TRUE(ends.source->sharesTransactionsWith(*ends.store));
}

// shows: exactly-once/both-told-text
TEST(Wiring, ThatTwoUrlsAreOneDatabaseIsToldByTheirText) {
  const char* queue = "postgresql://shop@db/orders?queue=q";
  EXPECT_TRUE(wired(queue, "postgresql://shop@db/orders").isOneDatabase());
  EXPECT_TRUE(wired("redis://127.0.0.1/0?queue=q", "redis://127.0.0.1/0").isOneDatabase());

  for (const char* other : {"postgresql://shop@db.example/orders", "postgresql://owner@db/orders",
                            "postgresql://shop@db:5433/orders", "postgresql://shop@db/ledger"})
    EXPECT_FALSE(wired(queue, other).isOneDatabase()) << other;
  EXPECT_FALSE(wired("redis://127.0.0.1/0?queue=q", "redis://localhost/0").isOneDatabase());
}

TEST(Wiring, RefusesAStoresParameterThatTheOneDatabaseWouldNotHear) {
  const auto wire = [](const char* queue, const char* store) {
    return cli::wire(parseBackend(queue).value(), parseStore(store).value());
  };
  const char* silent[][2] = {{"postgresql://db/o?queue=q", "postgresql://db/o?tls=yes&connect-limit=3s"},
                             {"postgresql://db/o?tls=no", "postgresql://db/o?tls=yes"},
                             {"sqlite:o.db?evict=yes", "sqlite:./o.db?evict=no"},
                             {"redis://cache/0?queue=q", "redis://cache/0?keep-ids=2d"}};
  for (const auto& [queue, store] : silent) {
    const auto wiring = wire(queue, store);
    ASSERT_FALSE(wiring) << store;
    EXPECT_TRUE(wiring.error().is(Errc::configurationRefused));
    EXPECT_THAT(wiring.error().detail, HasSubstr("queue and store are one database"));
    EXPECT_THAT(wiring.error().detail, Not(HasSubstr("s3cret")));
  }
  EXPECT_THAT(wire(silent[0][0], silent[0][1]).error().detail, HasSubstr("\"tls\""));
}

TEST(Wiring, TakesAStoresParameterThatTheQueueHasTooOrThatIsOfAnotherDatabase) {
  EXPECT_TRUE(wired("sqlite:o.db?queue=q&lock-limit=1s", "sqlite:o.db?lock-limit=1s").isOneDatabase());
  EXPECT_TRUE(wired("sqlite:o.db?queue=q&lock-limit=1s", "sqlite:o.db").isOneDatabase());
  EXPECT_FALSE(wired("sqlite:o.db?queue=q", "sqlite:ledger.db?lock-limit=1s").isOneDatabase());
}

TEST(Wiring, AStoreElsewhereFilesUnderTheQueuesName) {
  const Wiring two = wired("sqlite:orders.db?queue=orders", "sqlite:ledger.db");
  const Backend::Ends ends = two.open(noEvents());

  EXPECT_FALSE(two.isOneDatabase());
  EXPECT_EQ(two.storeBackend().queue(), "orders");
  EXPECT_FALSE(ends.source->sharesTransactionsWith(*ends.store));
}

}  // namespace
}  // namespace tenure::cli
