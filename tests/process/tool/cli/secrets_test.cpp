/// A password in a URL is refused with a hint where it may stand, by every command, in every scheme, and never shown.
#include <gmock/gmock.h>

#include "tool.hpp"

namespace tenure::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Secrets : public Tool, public testing::WithParamInterface<const char*> {
 protected:
  using Words = std::vector<std::string>;

  /// Every way to give a URL; none of them needs a server to be refused.
  static std::vector<Words> commandsWith(const std::string& url) {
    const Words election{"--zookeeper", "127.0.0.1:1", "--election", "e"};
    const auto in = [&](Words words, const Words& more) {
      words.insert(words.end(), election.begin(), election.end());
      words.insert(words.end(), more.begin(), more.end());
      return words;
    };
    const std::string sound = "sqlite:q.db";
    return {{"produce", "--queue", url},
            in({"consume"}, {"--exec", "true", "--queue", url}),
            in({"consume"}, {"--exec", "true", "--queue", sound, "--store", url}),
            in({"run"}, {"--store", url, "--", "true"}),
            {"queue", "stats", "--queue", url},
            {"dead-letters", "list", "--queue", url},
            {"dead-letters", "requeue", "--all", "--queue", sound, "--store", url},
            {"dead-letters", "purge", "--all", "--queue", url},
            {"fence", "show", "--queue", url},
            {"fence", "show", "--queue", sound, "--store", url},
            in({"fence", "rebase"}, {"--queue", url}),
            {"schema", "print", "--store", url},
            {"schema", "apply", "--store", url},
            {"check", "--queue", url},
            {"check", "--store", url}};
  }
};

INSTANTIATE_TEST_SUITE_P(Schemes, Secrets,
                         testing::Values("sqlite://me:s3cret@host/q.db", "postgresql://me:s3cret@db/shop",
                                         "postgresql://db/shop?password=s3cret", "redis://:s3cret@cache/0",
                                         "redis://cache/0?queue=q&password=s3cret", "amqp://me:s3cret@mq/",
                                         "amqps://me%3As3cret@mq/", "zookeeper://me:s3cret@zk:2181/store",
                                         "zookeeper://zk:2181/store?digest=s3cret"));

INSTANTIATE_TEST_SUITE_P(ThatLookLikeOtherParts, Secrets,
                         testing::Values("postgresql://me:12/s3cret@db/shop", "postgresql://me:12#s3cret@db/shop",
                                         "postgresql://me:s3cret/12@db/shop", "redis://:12?s3cret@cache/0",
                                         "amqp://me@corp:12/s3cret@mq/", "zookeeper://me:12/s3cret@zk:2181/store",
                                         "postgresql://db/shop?pwd=s3cret%", "postgresql://db/shop;password=s3cret",
                                         "host=db password=s3cret"));

// shows: operations/url-holds-password
TEST_P(Secrets, AreRefusedByEveryCommandAndNeverShown) {
  for (const Words& command : commandsWith(GetParam())) {
    const Run run = tenure(command);

    EXPECT_EQ(run.exit, 78) << command[0] << " " << command[1] << ": " << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("a URL must not hold a password"), HasSubstr("file or the environment"),
                                  Not(HasSubstr("s3cret"))))
        << command[0] << " " << command[1];
  }
}

// shows: operations/url-holds-password
TEST_F(Secrets, OfTheEnsembleAreRefusedByEveryCommandAndNeverShown) {
  const Words ensemble{"--zookeeper", "me:s3cret@zk:2181", "--election", "e"};
  for (Words command : {Words{"consume", "--exec", "true", "--queue", "sqlite:q.db"}, Words{"status"},
                        Words{"handover"}, Words{"fence", "rebase", "--queue", "sqlite:q.db"}, Words{"check"}}) {
    command.insert(command.end(), ensemble.begin(), ensemble.end());
    const Run run = tenure(command);

    EXPECT_EQ(run.exit, 78) << command[0] << ": " << run.output;
    EXPECT_THAT(run.output, AllOf(HasSubstr("--digest-file or TENURE_DIGEST"), Not(HasSubstr("s3cret")))) << command[0];
  }
}

TEST_F(Secrets, TheHintNamesThePlaceThatTheSchemeReads) {
  const auto hint = [this](const std::string& url) { return tenure({"check", "--store", url}).output; };

  EXPECT_THAT(hint("postgresql://me:s3cret@db/shop"), HasSubstr("PGPASSFILE"));
  EXPECT_THAT(hint("redis://:s3cret@cache"), HasSubstr("TENURE_REDIS_PASSWORD"));
  EXPECT_THAT(hint("amqps://me:s3cret@mq"), HasSubstr("TENURE_RABBITMQ_PASSWORD"));
  EXPECT_THAT(hint("zookeeper://me:s3cret@zk:2181"), HasSubstr("TENURE_DIGEST"));
}

}  // namespace
}  // namespace tenure::test
