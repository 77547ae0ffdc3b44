// What the URL of each server sets, and how a slip in it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backends/postgresql/url.hpp"
#include "backends/rabbitmq/url.hpp"
#include "backends/redis/url.hpp"
#include "backends/sqlite/url.hpp"
#include "backends/zookeeper/url.hpp"
#include "cli/options/backends.hpp"
#include "cli/options/options.hpp"
#include "support/events.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/results.hpp"
#include "support/terms.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// Of all brokers in this program; a URL without a password is refused.
const int brokersPassword = setenv("TENURE_RABBITMQ_PASSWORD", "sesame", 1);

/// A file as TLS wants it.
std::string pemIn(const test::TemporaryFolder& folder) {
  std::ofstream(folder / "pem") << "# of ours\n-----BEGIN CERTIFICATE-----\n";
  return (folder / "pem").string();
}

template <class Options>
Options accepted(Result<Options> (*read)(const Url&), std::string_view text) {
  const auto url = parseUrl(text);
  const auto options = url ? read(*url) : url.error();
  EXPECT_TRUE(options) << text << ": " << options.error().message();
  return options ? *options : Options{};
}

std::string complaint(std::string_view url) {
  const auto backend = parseBackend(url);
  EXPECT_FALSE(backend) << url << " was accepted";
  return backend ? "" : backend.error().detail;
}

TEST(PostgresqlUrl, NamesUserHostPortDatabaseAndQueue) {
  const auto options = accepted(postgresqlOptions, "postgresql://shop@db.eu:5433/orders?queue=paid&evict=no");

  EXPECT_EQ(options.user, "shop");
  EXPECT_EQ(options.host, "db.eu");
  EXPECT_EQ(options.port, 5433);
  EXPECT_EQ(options.database, "orders");
  EXPECT_EQ(options.queue, "paid");
  EXPECT_FALSE(options.evictFrozenHolder);
}

TEST(PostgresqlUrl, LeavesToLibpqWhatItDoesNotName) {
  const auto options = accepted(postgresqlOptions, "postgresql:///orders");

  EXPECT_EQ(options.host, "");
  EXPECT_EQ(options.port, 0);
  EXPECT_EQ(options.user, "");
}

TEST(PostgresqlUrl, TakesASocketInsteadOfAHost) {
  EXPECT_EQ(accepted(postgresqlOptions, "postgresql:///orders?socket=/run/pg").host, "/run/pg");
  EXPECT_THAT(complaint("postgresql://db/orders?socket=/run/pg"), HasSubstr("a host or a socket, not both"));
}

TEST(PostgresqlUrl, TakesATableOfOnesOwnForTheQueue) {
  using Role = postgresql::OutboxTable::Role;
  const auto options = accepted(postgresqlOptions,
                                "postgresql:///shop?table=Shop.%22Out.Box%22&columns=id=Id,group=%22Group, or "
                                "so%22,body=body&states=0,1,2&keep-sent=1d");

  ASSERT_TRUE(options.table);
  EXPECT_EQ(options.table->schema, "shop");
  EXPECT_EQ(options.table->name, "Out.Box");
  EXPECT_EQ(options.table->columns,
            (postgresql::OutboxTable::Columns{{Role::id, "id"}, {Role::group, "Group, or so"}, {Role::body, "body"}}));
  EXPECT_EQ(options.table->waiting + options.table->sent + options.table->dead, "012");
  EXPECT_EQ(options.table->keepSent, 24h);
  EXPECT_EQ(options.queue, "shop.\"Out.Box\"") << "the queue is named after it";
}

TEST(PostgresqlUrl, RefusesATableThatItCannotTell) {
  EXPECT_THAT(complaint("postgresql:///o?table=outbox"), HasSubstr("a table with its schema"));
  EXPECT_THAT(complaint("postgresql:///o?table=a.b.c"), HasSubstr("a table with its schema"));
  EXPECT_THAT(complaint("postgresql:///o?table=a.b&queue=q"), HasSubstr("leave queue out"));
  EXPECT_THAT(complaint("postgresql:///o?columns=id=a"), HasSubstr("without a table"));
  for (const char* columns : {"id", "id=a,id=b", "name=a", "id=", "id=a.b", "id=a,,body=b", "id=%22a"})
    EXPECT_THAT(complaint(std::string("postgresql:///o?table=a.b&columns=") + columns), HasSubstr("ROLE is id, order"))
        << columns;
  for (const char* states : {"a,b", "a,b,c,d", "a,,c"})
    EXPECT_THAT(complaint(std::string("postgresql:///o?table=a.b&states=") + states), HasSubstr("three words"))
        << states;
}

TEST(PostgresqlUrl, RefusesWhatNamesNoDatabase) {
  for (const char* url : {"postgresql:orders", "postgresql://db", "postgresql://db/"})
    EXPECT_THAT(complaint(url), HasSubstr("names a database")) << url;
}

TEST(SqliteUrl, TakesYesAndOneAlike) {
  EXPECT_TRUE(accepted(sqliteOptions, "sqlite:o.db?senders=1").senders);
  EXPECT_TRUE(accepted(sqliteOptions, "sqlite:o.db?senders=yes").senders);
  EXPECT_FALSE(accepted(sqliteOptions, "sqlite:o.db?senders=0").senders);
}

TEST(PostgresqlUrl, SaysWhichParameterIsOutOfItsRange) {
  EXPECT_THAT(complaint("postgresql://db/o?connect-limit=1s"),
              HasSubstr("connect-limit: \"1s\" is not a time from 2s to 10m"));
  EXPECT_THAT(complaint("postgresql://db/o?tls=perhaps"), HasSubstr("tls: \"perhaps\" is not yes or no"));
}

TEST(RedisUrl, NamesUserHostPortDatabaseAndQueue) {
  const auto options = accepted(redisOptions, "redis://shop@cache:6380/3?queue=paid&keep-ids=30d");

  EXPECT_EQ(options.user, "shop");
  EXPECT_EQ(options.host, "cache");
  EXPECT_EQ(options.port, 6380);
  EXPECT_EQ(options.database, 3);
  EXPECT_EQ(options.queue, "paid");
  EXPECT_EQ(options.keepIdsFor, 30 * 24h);
}

TEST(RedisUrl, MayForbidToMakeWhatIsAbsent) {
  EXPECT_TRUE(accepted(redisOptions, "redis://cache").create);
  EXPECT_FALSE(accepted(redisOptions, "redis://cache?create=no").create);
}

/// As a producer does, and a replica: both make what is absent where the URL does not forbid it.
TEST(RedisUrl, CreateNoHoldsWhateverTheCommandAsksFor) {
  const test::RedisServer server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port());
  const auto guarded = parseBackend(url + "?create=no").value();
  guarded->setCreate(true);
  const auto plain = parseBackend(url).value();
  plain->setCreate(true);
  const std::vector<NewMessage> one{{MessageId{"a"}, {}, "body", {}}};

  EXPECT_THAT(guarded->sink().value()->append(one), test::failsWith(Errc::notFound));
  EXPECT_THAT(guarded->open(noEvents()).store->claim(test::TestTerm(1)), test::failsWith(Errc::notFound));
  EXPECT_THAT(plain->sink().value()->append(one), test::succeeds());
}

TEST(RedisUrl, TakesASocketInsteadOfAHost) {
  EXPECT_EQ(accepted(redisOptions, "redis://?socket=/run/redis.sock").unixSocket, "/run/redis.sock");
  EXPECT_THAT(complaint("redis:///0"), HasSubstr("names a host"));
}

TEST(RedisStore, FilesAQueueUnderANameThatRedisTakes) {
  const std::string longName(200, 'q');

  EXPECT_EQ(redisQueueFor("orders"), "orders");
  EXPECT_EQ(redisQueueFor(std::string(64, 'q')), std::string(64, 'q'));
  EXPECT_EQ(redisQueueFor("shop:orders"), "shop-orders.f948b83b66582b3062f0b47905f41217");
  EXPECT_THAT(redisQueueFor("(fence of ledger)"), testing::StartsWith("-fence-of-ledger-."));
  for (const std::string& name : {std::string("b\xc3\xbc"
                                              "cher"),
                                  std::string("a}b"), std::string(".."), longName}) {
    EXPECT_TRUE(parseElectionName(redisQueueFor(name))) << name << ": " << redisQueueFor(name);
  }
  EXPECT_NE(redisQueueFor("shop:orders"), redisQueueFor("shop/orders"));
  EXPECT_NE(redisQueueFor(longName), redisQueueFor(longName.substr(1)));
}

TEST(RedisStore, TakesTheNameOfAnyQueueThatABrokerHas) {
  const test::RedisServer server;
  const std::string url = "redis://127.0.0.1:" + std::to_string(server.port());
  const auto wiring = [&] {
    return wire(parseBackend("amqp://mq?queue=shop:orders").value(), parseStore(url).value()).value();
  };

  ASSERT_THAT(wiring().store->open(noEvents()).store->claim(test::TestTerm(7)), test::succeeds());

  EXPECT_THAT(wiring().storeBackend().storeAdmin()->fenceRows().value(), testing::SizeIs(1));
}

TEST(RedisUrl, RefusesADatabaseThatIsNoNumberAndHalfAnHour) {
  EXPECT_THAT(complaint("redis://cache/orders"),
              HasSubstr("the database after the host: \"orders\" is not a whole number from 0 to"));
  EXPECT_THAT(complaint("redis://cache?keep-ids=30m"), HasSubstr("keep-ids: \"30m\" is not whole hours or days"));
}

TEST(RabbitmqUrl, NamesUserHostPortVirtualHostAndQueue) {
  const auto options = accepted(rabbitmqOptions, "amqp://shop@mq:5673/eu?queue=orders%2Fpaid&prefetch=32");

  EXPECT_EQ(options.user, "shop");
  EXPECT_EQ(options.host, "mq");
  EXPECT_EQ(options.port, 5673);
  EXPECT_EQ(options.virtualHost, "eu");
  EXPECT_EQ(options.queue, "orders/paid");
  EXPECT_EQ(options.prefetch, 32);
  EXPECT_FALSE(options.tls.on);
}

TEST(RabbitmqUrl, WithoutAPathMeansTheRootVirtualHost) {
  EXPECT_EQ(accepted(rabbitmqOptions, "amqp://mq").virtualHost, "/");
  EXPECT_EQ(accepted(rabbitmqOptions, "amqp://mq/").virtualHost, "/");
}

TEST(RabbitmqUrl, ChoosesByName) {
  const auto options =
      accepted(rabbitmqOptions, "amqp://mq?type=quorum&attach=single-active&missing-id=derive&group=routing-key");

  EXPECT_EQ(options.type, rabbitmq::QueueType::quorum);
  EXPECT_EQ(options.exclusivity, rabbitmq::Exclusivity::singleActiveConsumer);
  EXPECT_EQ(options.missingId, rabbitmq::MissingId::derive);
  EXPECT_EQ(options.groupFrom, rabbitmq::GroupFrom::routingKey);
  EXPECT_THAT(complaint("amqp://mq?type=lazy"), HasSubstr("type: \"lazy\" is not classic or quorum"));
  EXPECT_THAT(complaint("amqp://mq?type=quorum"), HasSubstr("use attach=single-active"));
  EXPECT_THAT(complaint("amqps://mq"), HasSubstr("tls-authority: must name the file"));
}

TEST(RabbitmqUrl, TakesTheQueuesArguments) {
  const auto options =
      accepted(rabbitmqOptions, "amqp://mq?arguments=x-max-length=5,x-dead-letter-exchange=dead&largest-body=2097152");

  EXPECT_EQ(options.arguments.at("x-max-length"), (std::variant<std::int64_t, std::string>(std::int64_t{5})));
  EXPECT_EQ(options.arguments.at("x-dead-letter-exchange"), (std::variant<std::int64_t, std::string>("dead")));
  EXPECT_EQ(options.largestBody, 2U << 20U);
  for (const char* slip : {"x-max-length", "=5", "x-max-length=", ",", "a=1,,b=2"})
    EXPECT_THAT(complaint("amqp://mq?arguments=" + std::string(slip)), HasSubstr("is not NAME=VALUE")) << slip;
  EXPECT_THAT(complaint("amqp://mq?arguments=a=1,a=2"), HasSubstr("each name once"));
  EXPECT_THAT(complaint("amqp://mq?arguments=x-max-priority=9"), HasSubstr("priorities break the order"));
  EXPECT_THAT(complaint("amqp://mq?largest-body=1"),
              HasSubstr("largest-body: \"1\" is not a whole number from 1,048,576 to"));
}

TEST(RabbitmqUrl, SaysHowAProducerPublishes) {
  const auto publishing =
      accepted(rabbitmqOptions,
               "amqp://mq?exchange=events&routing-key=eu.orders&mandatory=no&persistent=no&priority=0&expiration=30s"
               "&content-type=application/json")
          .publishing;

  EXPECT_EQ(publishing.exchange, "events");
  EXPECT_EQ(publishing.routingKey, "eu.orders");
  EXPECT_FALSE(publishing.mandatory);
  EXPECT_FALSE(publishing.persistent);
  EXPECT_EQ(publishing.priority, 0);
  EXPECT_EQ(publishing.expiration, 30s);
  EXPECT_EQ(publishing.contentType, "application/json");
}

TEST(RabbitmqUrl, PublishesToTheQueueWhereItSaysNothingElse) {
  const auto publishing = accepted(rabbitmqOptions, "amqp://mq?queue=orders").publishing;

  EXPECT_EQ(publishing.exchange, "");
  EXPECT_EQ(publishing.routingKey, std::nullopt);
  EXPECT_TRUE(publishing.mandatory && publishing.persistent);
  EXPECT_EQ(accepted(rabbitmqOptions, "amqp://mq?exchange=events&routing-key=").publishing.routingKey, "");
  EXPECT_THAT(complaint("amqp://mq?routing-key=eu"), HasSubstr("routing-key = eu: needs an exchange"));
  EXPECT_THAT(complaint("amqp://mq?priority=256"), HasSubstr("is not a whole number from 0 to 255"));
  EXPECT_THAT(complaint("amqp://mq?expiration=50d"), HasSubstr("expiration: \"50d\" is not a time from 0s to"));
}

TEST(ZooKeeperUrl, NamesEachServerTheStoreAndItsRoot) {
  const auto url = accepted(zookeeperOptions, "zookeeper://zk1:2181,zk2:2182/orders?root=/shop&session-timeout=6s");

  EXPECT_EQ(url.options.zookeeper.hosts, "zk1:2181,zk2:2182");
  EXPECT_EQ(url.options.name, "orders");
  EXPECT_EQ(url.options.root, "/shop");
  EXPECT_EQ(url.options.zookeeper.sessionTimeout, 6s);
  EXPECT_EQ(accepted(zookeeperOptions, "zookeeper://[::1]:2181").options.zookeeper.hosts, "[::1]:2181");
  EXPECT_EQ(accepted(zookeeperOptions, "zookeeper://zk1:2181/").options.name, "default");
}

// shows: urls/queue-store-works
TEST(ZooKeeperUrl, IsAStoreAndNoQueue) {
  EXPECT_TRUE(parseStore("zookeeper://zk1:2181/orders"));
  EXPECT_THAT(complaint("zookeeper://zk1:2181/orders"), HasSubstr("zookeeper keeps no queue"));
}

TEST(ZooKeeperStoreUrl, IsAsStrictAsTheElection) {
  ZooKeeperOptions election;
  election.hosts = "zk2:2181";
  const auto store = parseStore("zookeeper://zk1:2181/small").value();

  store->joinElection(election);
  EXPECT_FALSE(store->zookeeper()->strictAcl);
  election.strictAcl = true;
  store->joinElection(election);
  EXPECT_TRUE(store->zookeeper()->strictAcl);
}

TEST(ZooKeeperStoreUrl, WithoutADigestUsesTheElectionsOnTheElectionsServersOnly) {
  const auto digestAt = [](const std::string& url, const std::string& hosts) {
    ZooKeeperOptions election;
    election.hosts = hosts;
    election.digest = Secret("election:secret");
    const auto store = parseStore(url).value();
    store->joinElection(election);
    return std::string(store->zookeeper()->digest.reveal());
  };
  const test::TemporaryFolder folder;
  std::ofstream(folder / "own") << "store:secret\n";
  const std::string own = "?digest-file=" + (folder / "own").string();

  EXPECT_EQ(digestAt("zookeeper://zk1:2181,zk2:2181/small", "zk2:2181,zk1:2181"), "election:secret");
  EXPECT_EQ(digestAt("zookeeper://zk1:2181,zk2:2181/small" + own, "zk1:2181,zk2:2181"), "store:secret");
  EXPECT_EQ(digestAt("zookeeper://zk1:2181/small", "zk2:2181"), "");
}

TEST(ZooKeeperUrl, RefusesServersWithoutAPortAUserAndAStrangeName) {
  const auto refusal = [](std::string_view url) { return parseStore(url).error().detail; };

  for (const char* url : {"zookeeper:zk1", "zookeeper://zk1", "zookeeper://zk1,zk2:2181", "zookeeper://zk1:2181,zk2"})
    EXPECT_THAT(refusal(url), testing::AnyOf(HasSubstr("each server with its port"), HasSubstr("is no port"))) << url;
  EXPECT_THAT(refusal("zookeeper://me@zk1:2181"), HasSubstr("names no user"));
  EXPECT_THAT(refusal("zookeeper://zk1:2181/a/b"), HasSubstr("the store after the hosts"));
  EXPECT_THAT(refusal("zookeeper://zk1:2181?root=tenure"), HasSubstr("root: "));
  EXPECT_THAT(refusal("zookeeper://zk1:2181?digest-file=/no/such"), HasSubstr("digest-file: "));
}

TEST(RabbitmqUrl, BeatsInWholeSeconds) {
  EXPECT_THAT(complaint("amqp://mq?heartbeat=1500ms"), HasSubstr("is not whole seconds from 1s to 1m"));
}

TEST(BackendUrl, WhatMayBeAPieceOfAPasswordIsNotRepeated) {
  for (const char* url : {"amqp://me:12?prefetch=34s3cret@mq", "postgresql://me:12?lock-limit=s3cret@db/o"})
    EXPECT_THAT(complaint(url), testing::Not(HasSubstr("s3cret"))) << url;
}

// shows: urls/queue-store-works
TEST(RabbitmqUrl, KeepsNoEffects) {
  EXPECT_THAT(parseStore("amqp://mq").error().detail, HasSubstr("amqp keeps no effects"));
  EXPECT_THAT(wire(parseBackend("amqp://mq").value(), nullptr).error().detail, HasSubstr("--store"));
}

TEST(RabbitmqUrl, BeatsFasterThanTheSessionTimesOut) {
  const auto backend = parseBackend("amqp://mq?heartbeat=10s").value();

  EXPECT_TRUE(backend->fits(11s));
  EXPECT_THAT(backend->fits(10s).error().detail, AllOf(HasSubstr("heartbeat 10s"), HasSubstr("session timeout")));
}

TEST(BackendUrl, Row20TlsThatTheRedisClientHasNotIsRefusedBeforeAnythingBegins) {
  EXPECT_THAT(complaint("redis://cache?tls=yes"), HasSubstr("put a tunnel"));
  EXPECT_TRUE(parseBackend("redis://cache?tls=no"));
}

TEST(BackendUrl, Row20CertificatesWithoutTlsAreRefusedWithWhatTurnsItOn) {
  EXPECT_THAT(complaint("postgresql://db/o?tls-authority=/ca"), HasSubstr("tls=yes"));
  EXPECT_THAT(complaint("postgresql://db/o?tls-authority=/ca&tls=no"), HasSubstr("tls=yes"));
  const test::TemporaryFolder folder;
  EXPECT_TRUE(parseBackend("postgresql://db/o?tls-authority=" + pemIn(folder) + "&tls=yes"));
  for (const char* parameter : {"tls-authority", "tls-certificate", "tls-key"})
    EXPECT_THAT(complaint("amqp://mq?" + std::string(parameter) + "=/file"),
                AllOf(HasSubstr(parameter), HasSubstr("amqps://")));
  EXPECT_TRUE(parseBackend("amqps://mq?tls-authority=" + pemIn(folder)));
}

// shows: operations/missing-password-file
TEST(BackendUrl, Row20AFileForTlsThatCannotBeUsedIsRefusedBeforeAnythingBegins) {
  const test::TemporaryFolder folder;
  const std::string pem = pemIn(folder);
  std::ofstream(folder / "empty");
  std::ofstream(folder / "garbage") << "no certificate\n";
  for (const char* slip : {"absent", "empty", "garbage", "."}) {
    const std::string file = (folder / slip).string();
    EXPECT_THAT(complaint("postgresql://db/o?tls=yes&tls-authority=" + file),
                HasSubstr("tls-authority: nothing in PEM"));
    EXPECT_THAT(complaint("amqps://mq?tls-authority=" + file), HasSubstr("tls-authority: nothing in PEM"));
    EXPECT_THAT(complaint("amqps://mq?tls-authority=" + pem + "&tls-certificate=" + pem + "&tls-key=" + file),
                HasSubstr("tls-key: nothing in PEM"));
    EXPECT_THAT(complaint("amqps://mq?tls-authority=" + pem + "&tls-key=" + pem + "&tls-certificate=" + file),
                HasSubstr("tls-certificate: nothing in PEM"));
  }
}

// shows: operations/missing-password-file
TEST(BackendUrl, Row20ABrokerWithoutAnyPasswordIsRefusedBeforeAnythingBegins) {
  unsetenv("TENURE_RABBITMQ_PASSWORD");
  const std::string refusal = complaint("amqp://mq?queue=orders");
  setenv("TENURE_RABBITMQ_PASSWORD", "sesame", 1);

  EXPECT_THAT(refusal, AllOf(HasSubstr("password-file: there is no password"), HasSubstr("TENURE_RABBITMQ_PASSWORD")));
}

TEST(BackendUrl, Row20APasswordFileWithoutAPasswordIsRefusedBeforeAnythingBegins) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "empty");
  std::ofstream(folder / "blank") << "\n";
  std::ofstream(folder / "good") << "sesame\n";
  for (const std::string url : {"redis://cache", "amqp://mq", "postgresql://db/o"}) {
    for (const char* slip : {"absent", "empty", "blank", "."})
      EXPECT_THAT(complaint(url + "?password-file=" + (folder / slip).string()),
                  HasSubstr("password-file: no password can be read from"))
          << url << " " << slip;
    EXPECT_TRUE(parseBackend(url + "?password-file=" + (folder / "good").string())) << url;
  }
}

TEST(BackendUrl, RefusesASchemeThatNobodyKnowsAndNamesThoseThatAre) {
  EXPECT_THAT(complaint("mysql://db/orders"), HasSubstr("expected sqlite, postgresql, redis, amqp, amqps, zookeeper"));
}

}  // namespace
}  // namespace tenure::cli
