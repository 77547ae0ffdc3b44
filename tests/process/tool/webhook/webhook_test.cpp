/// `tenure consume --webhook`: URLs that are called, and receivers that behave well, badly, or not at all.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "../cli/replica.hpp"
#include "support/certificates.hpp"
#include "webhook/signature.hpp"

namespace tenure::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// programs/webhook_receiver.py
class Receiver {
 public:
  Receiver(const std::filesystem::path& folder, const std::filesystem::path& secretFile,
           const std::optional<Certificate>& certificate = {})
      : folder_(folder), program_(argumentsOf(folder, secretFile, certificate), folder / "receiver.out") {
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(folder_ / "port"); })) << program_.output();
    std::ifstream(folder_ / "port") >> port_;
  }

  std::string url(const std::string& path, const std::string& scheme = "http") const {
    return scheme + "://127.0.0.1:" + port_ + path;
  }
  std::vector<json> calls() const {
    std::vector<json> calls;
    std::ifstream log(folder_ / "calls");
    for (std::string line; std::getline(log, line);)
      if (json call = json::parse(line); call.contains("webhook-id")) calls.push_back(std::move(call));
    return calls;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const json& call : calls()) ids.push_back(call.at("webhook-id"));
    return ids;
  }
  bool hasCalls(std::size_t count) const {
    return eventually([&] { return calls().size() >= count; });
  }
  void letGo() const { std::ofstream(folder_ / "calls.go"); }
  void stop() {
    program_.signal(SIGKILL);
    program_.waitForEnd();
  }

 private:
  static Program::Arguments argumentsOf(const std::filesystem::path& folder, const std::filesystem::path& secretFile,
                                        const std::optional<Certificate>& certificate) {
    Program::Arguments arguments{"/usr/bin/python3",
                                 std::string(TENURE_SOURCE_DIR) + "/tests/programs/webhook_receiver.py",
                                 (folder / "port").string(), (folder / "calls").string(), secretFile.string()};
    if (certificate) {
      arguments.push_back(certificate->certificate.string());
      arguments.push_back(certificate->key.string());
    }
    return arguments;
  }

  const std::filesystem::path folder_;
  Program program_;
  std::string port_;
};

class Webhooks : public ToolInElection {
 protected:
  void SetUp() override {
    ToolInElection::SetUp();
    std::filesystem::create_directories(at("receiver"));
    const Run run = tenure({"webhook", "secret"});
    ASSERT_EQ(run.exit, 0) << run.output;
    secret_ = run.output.substr(0, run.output.find('\n'));
    write("secret", secret_ + "\n");
  }
  Receiver& receiver() {
    if (!receiver_) receiver_.emplace(at("receiver"), at("secret"));
    return *receiver_;
  }
  Program call(const std::string& url, const Arguments& more = {}, const std::string& name = "first") {
    Arguments arguments{"--queue",
                        queue(),
                        "--id",
                        name,
                        "--webhook",
                        url,
                        "--webhook-secret-file",
                        at("secret"),
                        "--retry-base",
                        "10ms",
                        "--webhook-allow-private"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(inElection("consume", arguments), name);
  }
  json deadLetters() {
    const Run run = tenure({"dead-letters", "list", "--queue", queue(), "--json"});
    EXPECT_EQ(run.exit, 0) << run.output;
    json all = json::array();
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) all.push_back(json::parse(line));
    return all;
  }
  /// Each message names its URL.
  Program callNamed(const Arguments& more = {}) {
    Arguments arguments{"--queue",
                        queue(),
                        "--webhook-from",
                        "header:notify",
                        "--webhook-allow",
                        receiver().url("/"),
                        "--webhook-allow-private",
                        "--webhook-secret-file",
                        at("secret")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(inElection("consume", arguments), "first");
  }
  std::string lineFor(int number, const std::string& path) {
    return R"({"id":"m-)" + std::to_string(number) + R"(","body":"b","headers":{"notify":")" + receiver().url(path) +
           "\"}}\n";
  }
  bool has(int rows) {
    return eventually([&] { return sql("SELECT count(*) FROM tenure_message") == std::to_string(rows); });
  }
  bool isEmpty() {
    return eventually([&] { return sql("SELECT count(*) FROM tenure_message") == "0"; });
  }
  const std::string& secret() const { return secret_; }

 private:
  std::string secret_;
  std::optional<Receiver> receiver_;
};

// shows: webhooks/signed-as-standard
TEST_F(Webhooks, EachMessageIsOneSignedCallInItsOrder) {
  produce(R"({"id":"o-1","group":"anna","body":"{\"sum\":17}"})"
          "\n"
          R"({"id":"o-2","group":"b ob","body":"plain","headers":{"content-type":"text/x"}})"
          "\n");
  Program replica = call(receiver().url("/ok"));
  ASSERT_TRUE(receiver().hasCalls(2)) << replica.output();

  const std::vector<json> calls = receiver().calls();
  EXPECT_EQ(calls[0].at("webhook-id"), "orders:o-1");
  EXPECT_EQ(calls[0].at("body"), R"({"sum":17})");
  EXPECT_EQ(calls[0].at("content-type"), "application/json");
  EXPECT_EQ(calls[0].at("tenure-group"), "anna");
  EXPECT_EQ(calls[1].at("webhook-id"), "orders:o-2");
  EXPECT_EQ(calls[1].at("content-type"), "text/x");
  EXPECT_EQ(calls[1].at("tenure-group"), "b%20ob");
  for (const json& each : calls) {
    EXPECT_EQ(each.at("signed"), true);
    EXPECT_EQ(each.at("stale"), false);
  }
  EXPECT_TRUE(isEmpty());
  EXPECT_EQ(told(replica, SIGTERM), 0);
  EXPECT_THAT(replica.output(), Not(HasSubstr(secret())));
}

// shows: webhooks/what-an-answer-means
TEST_F(Webhooks, OneThatIsGoneIsADeadLetterAtOnceAndTold) {
  produce(numbered(1));
  Program replica = call(receiver().url("/gone?token=sesame"));

  ASSERT_TRUE(replica.waitForOutput(" webhook_gone ")) << replica.output();
  ASSERT_TRUE(isEmpty());
  const json letters = deadLetters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_THAT(letters[0].at("reason").get<std::string>(), HasSubstr("status 410"));
  EXPECT_EQ(receiver().calls().size(), 1U);
  EXPECT_THAT(replica.output(), AllOf(HasSubstr("/gone"), Not(HasSubstr("sesame"))));
}

// shows: webhooks/what-an-answer-means
TEST_F(Webhooks, AnotherAnswerIsAFailedAttemptWithItsReason) {
  produce(numbered(1));
  Program replica = call(receiver().url("/fail"), {"--max-attempts", "3"});

  ASSERT_TRUE(isEmpty());
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1", "orders:m-1", "orders:m-1"));
  const json letters = deadLetters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_EQ(letters[0].at("reason"), "status 500: out of paper");
  EXPECT_EQ(letters[0].at("attempts"), 3);
}

// shows: webhooks/what-an-answer-means
TEST_F(Webhooks, OneThatAsksForTimeIsCalledAgainLaterAndNoAttemptCounts) {
  produce(numbered(1));
  Program replica = call(receiver().url("/busy"), {"--max-attempts", "1"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  const std::vector<json> calls = receiver().calls();
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_GE(calls[1].at("at").get<double>() - calls[0].at("at").get<double>(), 0.9);
  EXPECT_THAT(deadLetters(), testing::SizeIs(0));
}

struct Misbehaving {
  const char* path;
  const char* reason;
};
void PrintTo(const Misbehaving& way, std::ostream* out) { *out << way.path; }

class HostileReceiver : public Webhooks, public testing::WithParamInterface<Misbehaving> {};

// shows: webhooks/hostile-receivers
TEST_P(HostileReceiver, CostsAnAttemptAndNothingElse) {
  produce(numbered(1));
  Program replica = call(receiver().url(GetParam().path), {"--max-attempts", "1", "--webhook-timeout", "400ms"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  const json letters = deadLetters();
  ASSERT_EQ(letters.size(), 1U);
  EXPECT_THAT(letters[0].at("reason").get<std::string>(), HasSubstr(GetParam().reason));
  EXPECT_EQ(told(replica, SIGTERM), 0);
}
INSTANTIATE_TEST_SUITE_P(Ways, HostileReceiver,
                         testing::Values(Misbehaving{"/slow-head", "within 400 ms"},
                                         Misbehaving{"/slow-body", "within 400 ms"}, Misbehaving{"/cut", "nothing"},
                                         Misbehaving{"/wrong-length", "partial"},
                                         Misbehaving{"/redirect", "redirects are not followed"}));

// shows: webhooks/hostile-receivers
TEST_F(Webhooks, AnAnswerWithoutEndIsReadNoFurtherThanItsStatusNeeds) {
  produce(numbered(1));
  Program replica = call(receiver().url("/endless"));

  EXPECT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(deadLetters(), testing::SizeIs(0));
}

// shows: webhooks/away-spends-no-attempt
TEST_F(Webhooks, WhileNobodyIsThereNoAttemptCounts) {
  produce(numbered(1));
  receiver();
  const std::string url = receiver().url("/ok");
  receiver().stop();
  Program replica = call(url, {"--max-attempts", "1"});

  ASSERT_TRUE(replica.waitForOutput(" message_postponed ", 3)) << replica.output();
  EXPECT_THAT(deadLetters(), testing::SizeIs(0));
}

// shows: webhooks/away-spends-no-attempt
TEST_F(Webhooks, UntilThatHasTakenTooLong) {
  produce(numbered(1));
  const std::string url = receiver().url("/ok");
  receiver().stop();
  Program replica = call(url, {"--max-attempts", "1", "--webhook-outage", "100ms"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(deadLetters(), testing::SizeIs(1));
}

// shows: webhooks/nobodys-tunnel
TEST_F(Webhooks, AnAddressThatIsNotGlobalIsNotCalled) {
  produce(numbered(1));
  const std::string url = receiver().url("/ok");
  Program replica =
      start(inElection("consume", {"--queue", queue(), "--webhook", url, "--max-attempts", "1"}), "first");

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(deadLetters().at(0).at("reason").get<std::string>(), HasSubstr("not global"));
  EXPECT_THAT(receiver().calls(), testing::IsEmpty());
}

// shows: webhooks/nobodys-tunnel
TEST_F(Webhooks, WhatTheEnvironmentSaysOfProxiesOpensNoWay) {
  produce(numbered(1));
  const std::string url = receiver().url("/ok");
  Program replica = start(inElection("consume", {"--queue", queue(), "--webhook", url, "--max-attempts", "1",
                                                 "--webhook-proxy", "http://127.0.0.1:9/", "--webhook-outage", "1ms"}),
                          "first", {"no_proxy=*", "NO_PROXY=*", "http_proxy=" + url, "ALL_PROXY=" + url});

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(receiver().calls(), testing::IsEmpty());
}

// shows: webhooks/what-an-answer-means
TEST_F(Webhooks, AStormOfWaitsEndsWithItsPatience) {
  produce(numbered(1));
  Program replica =
      call(receiver().url("/storm"), {"--max-attempts", "2", "--retry-max", "100ms", "--webhook-outage", "1s"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(deadLetters().at(0).at("reason").get<std::string>(), HasSubstr("status 429"));
  EXPECT_LT(receiver().calls().size(), 30U);
}

// shows: webhooks/nobodys-tunnel
TEST_F(Webhooks, AMessageChoosesItsUrlAmongThoseThatAreAllowed) {
  const std::string allowed = receiver().url("/ok");
  std::string file = allowed + "/1";
  for (const auto& [what, by] : {std::pair{":", "%3A"}, {"/", "%2F"}, {".", "%2E"}})
    for (std::size_t found = 0; (found = file.find(what, found)) != std::string::npos; found += 3)
      file.replace(found, 1, by);
  std::filesystem::create_directories(at("secrets"));
  write("secrets/" + file, secret() + "\n");
  produce(R"({"id":"a","body":"x","headers":{"notify":")" + allowed + R"(/1"}})" + "\n" +
          R"({"id":"b","body":"x","headers":{"notify":")" + receiver().url("/okay") + R"("}})" + "\n" +
          R"({"id":"c","body":"x"})" + "\n");
  Program replica =
      start(inElection("consume", {"--queue", queue(), "--webhook-from", "header:notify", "--webhook-allow", allowed,
                                   "--webhook-allow-private", "--webhook-secret-dir", at("secrets")}),
            "first");

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:a"));
  EXPECT_EQ(receiver().calls().at(0).at("signed"), true);
  const json letters = deadLetters();
  ASSERT_EQ(letters.size(), 2U);
  EXPECT_THAT(letters[0].at("reason").get<std::string>(), HasSubstr("none of the allowed prefixes"));
  EXPECT_THAT(letters[1].at("reason").get<std::string>(), HasSubstr("no header notify"));
  const Run refused = tenure(inElection("consume", {"--queue", queue(), "--webhook-from", "header:notify"}));
  EXPECT_EQ(refused.exit, 78);
  EXPECT_THAT(refused.output, HasSubstr("--webhook-allow"));
}

// shows: webhooks/own-secrets
TEST_F(Webhooks, EachEndpointHasASecretThatIsDerivedForIt) {
  const std::string hook = receiver().url("/ok/hook");
  const Run derived = tenure({"webhook", "secret", "--for", hook, "--secret-file", at("secret")});
  ASSERT_EQ(derived.exit, 0) << derived.output;
  EXPECT_NE(derived.output, secret() + "\n");
  produce(R"({"id":"a","body":"x","headers":{"notify":")" + hook + R"("}})" + "\n");
  Program replica =
      start(inElection("consume", {"--queue", queue(), "--webhook-from", "header:notify", "--webhook-allow", hook,
                                   "--webhook-allow-private", "--webhook-secret-file", at("secret")}),
            "first");
  ASSERT_TRUE(isEmpty()) << replica.output();
  const json call = receiver().calls().at(0);
  EXPECT_EQ(call.at("signed"), false) << "by the master secret";
  write("derivedOfHook", derived.output);
  const Run sound = tenure({"webhook", "verify", "--secret-file", at("derivedOfHook"), "--id", call.at("webhook-id"),
                            "--timestamp", call.at("webhook-timestamp"), "--signature", call.at("webhook-signature")},
                           "x");
  EXPECT_EQ(sound.exit, 0) << sound.output;
}

// shows: webhooks/hostile-receivers
TEST_F(Webhooks, ACertificateThatIsWrongOrExpiredIsAFailedAttempt) {
  Authority authority;
  int round = 0;
  for (const Certificate& bad : {authority.issue("DNS:another.example"), authority.issue("IP:127.0.0.1", -1)}) {
    const std::string folder = at("tls" + std::to_string(++round));
    std::filesystem::create_directories(folder);
    Receiver tls(folder, at("secret"), bad);
    const Run run = tenure({"webhook", "send", tls.url("/ok", "https"), "--allow-private"}, "x");
    EXPECT_EQ(run.exit, 65);
    EXPECT_THAT(run.output, HasSubstr("a failed attempt: SSL"));
  }
  const std::string folder = at("tls");
  std::filesystem::create_directories(folder);
  Receiver tls(folder, at("secret"), authority.issue("IP:127.0.0.1"));
  produce(numbered(1));
  Program replica = call(tls.url("/ok", "https"), {"--webhook-ca", authority.certificate().string()});
  EXPECT_TRUE(isEmpty()) << replica.output();
}

// shows: webhooks/signed-as-standard
TEST_F(Webhooks, TheStandardsOwnLibrariesVerifyThem) {
  Program install(
      {"/bin/sh", "-c", "cd '" + at("receiver") + "' && npm install --no-audit --no-fund standardwebhooks@1 svix@1"},
      at("npm.out"));
  if (exitOf(install) != 0)
    GTEST_SKIP() << "needs node, npm and its packages standardwebhooks and svix: " << install.output();
  Program verifier(
      {"/usr/bin/env", "NODE_PATH=" + at("receiver/node_modules"), "node",
       std::string(TENURE_SOURCE_DIR) + "/tests/programs/webhook_verifier.cjs", at("verifier.port"), at("secret")},
      at("verifier.out"));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(at("verifier.port")); })) << verifier.output();
  std::string port;
  std::ifstream(at("verifier.port")) >> port;
  const std::string url = "http://127.0.0.1:" + port + "/";
  produce(R"({"id":"ö 1/2.3","group":"anna","body":"{\"text\":\"grün\"}"})" + std::string("\n") +
          R"({"id":"m-2","body":"17"})" + "\n");

  Program replica = call(url, {"--max-attempts", "1"});
  ASSERT_TRUE(isEmpty()) << replica.output();

  EXPECT_THAT(deadLetters(), testing::SizeIs(0));
  write("other", tenure({"webhook", "secret"}).output);
  const Run forged = tenure({"webhook", "send", url, "--allow-private", "--secret-file", at("other")}, R"({"a":1})");
  EXPECT_EQ(forged.exit, 65) << forged.output;
  EXPECT_THAT(forged.output, HasSubstr("status 401"));
}

// shows: webhooks/stale-leaders
TEST_F(Webhooks, ALeaderThatStoodStillBeginsNoCallThatItHadNotBegun) {
  produce(numbered(3));
  Program first = call(receiver().url("/hold"), {"--session-timeout", "4s"});
  ASSERT_TRUE(receiver().hasCalls(1)) << first.output();
  first.signal(SIGSTOP);
  Program second = call(receiver().url("/hold"), {"--session-timeout", "4s"}, "second");
  ASSERT_TRUE(receiver().hasCalls(2)) << second.output();
  receiver().letGo();
  ASSERT_TRUE(isEmpty()) << second.output();

  first.signal(SIGCONT);
  ASSERT_TRUE(first.waitForOutput(" term_ended ")) << first.output();

  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1", "orders:m-1", "orders:m-2", "orders:m-3"));
  for (const json& each : receiver().calls()) EXPECT_EQ(each.at("stale"), false);
}

// shows: webhooks/again-under-the-same-id
TEST_F(Webhooks, ACallWhoseLeaderDiesBeforeItsCommitIsMadeAgainUnderTheSameId) {
  produce(numbered(1));
  Program first = call(receiver().url("/hold"));
  ASSERT_TRUE(receiver().hasCalls(1)) << first.output();
  Program second = call(receiver().url("/hold"), {}, "second");
  first.signal(SIGKILL);
  receiver().letGo();

  ASSERT_TRUE(receiver().hasCalls(2)) << second.output();
  ASSERT_TRUE(isEmpty());
  const std::vector<json> calls = receiver().calls();
  EXPECT_EQ(calls[0].at("webhook-id"), calls[1].at("webhook-id"));
  EXPECT_EQ(calls[1].at("stale"), false);
}

// shows: webhooks/again-under-the-same-id
TEST_F(Webhooks, ALeaderThatDiesBetweenTheAnswerAndItsCommitLeavesTheCallToTheNext) {
  produce(numbered(1));
  Program first = call(receiver().url("/hold"));
  ASSERT_TRUE(receiver().hasCalls(1)) << first.output();
  Program holder({"sqlite3", at("q.db"), "BEGIN IMMEDIATE", ".shell echo holds; exec sleep 60"}, at("holder"));
  ASSERT_TRUE(holder.waitForOutput("holds")) << holder.output();
  receiver().letGo();
  ASSERT_TRUE(first.waitForOutput(" outage_began ")) << first.output();
  first.signal(SIGKILL);
  holder.signal(SIGKILL);

  Program second = call(receiver().url("/hold"), {}, "second");

  ASSERT_TRUE(isEmpty()) << second.output();
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1", "orders:m-1"));
}

// shows: webhooks/beside-each-other
TEST_F(Webhooks, GroupsAreCalledBesideEachOtherAndEachInItsOrder) {
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += R"({"id":"m-)" + std::to_string(i) + R"(","group":"g)" + std::to_string(i % 6) + R"(","body":"b"})" + "\n";
  produce(lines);
  Program replica = call(receiver().url("/nap"), {"--lanes", "3", "--http", "127.0.0.1:0"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  std::map<std::string, int> last;
  int most = 0;
  for (const json& each : receiver().calls()) {
    EXPECT_EQ(each.at("of_group"), 1);
    most = std::max(most, each.at("at_once").get<int>());
    const std::string id = each.at("webhook-id");
    const int number = std::stoi(id.substr(id.find('-') + 1));
    const auto [known, isFirst] = last.try_emplace(each.at("tenure-group"), number);
    EXPECT_TRUE(isFirst || known->second < number) << id;
    known->second = number;
  }
  EXPECT_EQ(receiver().calls().size(), 60U);
  EXPECT_GT(most, 1);
}

// shows: webhooks/one-dead-endpoint
TEST_F(Webhooks, ADeadEndpointHoldsUpItsOwnMessagesAlone) {
  std::filesystem::create_directories(at("dead"));
  Receiver gone(at("dead"), at("secret"));
  const std::string dead = gone.url("/ok");
  gone.stop();
  std::string lines;
  for (int i = 0; i < 40; ++i)
    lines += R"({"id":"m-)" + std::to_string(i) + R"(","body":"b","headers":{"notify":")" +
             (i % 4 == 0 ? dead : receiver().url("/ok/" + std::to_string(i % 4))) + "\"}}\n";
  produce(lines);
  const std::string prefix = receiver().url("/ok");
  Program replica =
      start(inElection("consume", {"--queue", queue(), "--webhook-from", "header:notify", "--webhook-allow", prefix,
                                   "--webhook-allow", dead, "--webhook-allow-private", "--lanes", "2",
                                   "--webhook-secret-file", at("secret")}),
            "first");

  ASSERT_TRUE(receiver().hasCalls(30)) << replica.output();
  EXPECT_TRUE(eventually([&] { return sql("SELECT count(*) FROM tenure_message") == "10"; }));
  const Run listed = tenure({"webhook", "endpoints", "--queue", queue(), "--webhook-from", "header:notify", "--json"});
  EXPECT_EQ(listed.exit, 0) << listed.output;
  const json endpoint = json::parse(listed.output);
  EXPECT_EQ(endpoint.at("endpoint"), dead);
  EXPECT_EQ(endpoint.at("waiting"), 10);
  std::map<std::string, int> last;
  for (const json& each : receiver().calls()) {
    const std::string id = each.at("webhook-id");
    const int number = std::stoi(id.substr(id.find('-') + 1));
    EXPECT_LT(std::exchange(last[each.at("path")], number), std::max(number, 1)) << id;
  }
}

// shows: webhooks/hanging-endpoints
TEST_F(Webhooks, AnEndpointThatHangsHoldsUpItsOwnMessagesAlone) {
  std::string lines;
  for (int i = 0; i < 700; ++i) lines += lineFor(i, "/slow_head");
  for (int i = 700; i < 740; ++i) lines += lineFor(i, "/ok/" + std::to_string(i % 10));
  produce(lines);
  Program replica = callNamed({"--webhook-timeout", "1h"});

  EXPECT_TRUE(has(700)) << replica.output();
  std::vector<std::string> hung;
  for (const json& each : receiver().calls())
    if (each.at("path") == "/slow_head") hung.push_back(each.at("webhook-id"));
  EXPECT_THAT(hung, ElementsAre("orders:m-0"));
}

// shows: webhooks/hanging-endpoints
TEST_F(Webhooks, ACallThatTakesLongIsMadeOnce) {
  produce(lineFor(1, "/hold") + lineFor(2, "/hold"));
  Program replica = callNamed();
  ASSERT_TRUE(replica.waitForOutput(" message_postponed ")) << replica.output();

  receiver().letGo();

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1", "orders:m-2"));
  EXPECT_THAT(replica.output(), Not(HasSubstr(" attempt_failed ")));
}

// shows: webhooks/one-dead-endpoint
TEST_F(Webhooks, TheDeadLettersOfOneEndpointStopNoOthers) {
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += lineFor(i, "/gone");
  produce(lines + lineFor(30, "/ok"));
  Program replica = callNamed();

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(deadLetters(), testing::SizeIs(30));
  EXPECT_THAT(replica.output(), Not(HasSubstr(" consumer_stopped ")));
}

// shows: webhooks/away-spends-no-attempt
TEST_F(Webhooks, ThePatienceOfALeaderIsOnRecordForTheNext) {
  produce(numbered(1));
  const std::string url = receiver().url("/ok");
  receiver().stop();
  Program first = call(url, {"--max-attempts", "1"});
  ASSERT_TRUE(first.waitForOutput(" message_postponed ", 2)) << first.output();
  EXPECT_EQ(told(first, SIGTERM), 0);

  Program second = call(url, {"--max-attempts", "1", "--webhook-outage", "10ms"}, "second");

  ASSERT_TRUE(isEmpty()) << second.output();
  EXPECT_THAT(second.output(), Not(HasSubstr(" message_postponed ")));
  EXPECT_THAT(deadLetters(), testing::SizeIs(1));
}

// shows: webhooks/again-under-the-same-id
TEST_F(Webhooks, AStoreThatIsAwayWhenTheAnswerComesCostsNoSecondCall) {
  produce(numbered(1));
  Program replica = call(receiver().url("/hold"));
  ASSERT_TRUE(receiver().hasCalls(1)) << replica.output();
  Program holder({"sqlite3", at("q.db"), "BEGIN IMMEDIATE", ".shell echo holds; exec sleep 60"}, at("holder"));
  ASSERT_TRUE(holder.waitForOutput("holds")) << holder.output();
  receiver().letGo();
  ASSERT_TRUE(replica.waitForOutput(" outage_began ")) << replica.output();

  holder.signal(SIGKILL);

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1"));
}

// shows: webhooks/at-most-once
TEST_F(Webhooks, AtMostOnceAFailedCallIsADeadLetterAtOnce) {
  produce(numbered(2));
  Program replica = call(receiver().url("/fail"), {"--delivery", "at-most-once"});

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_TRUE(eventually([&] { return deadLetters().size() == 2; }));
  EXPECT_THAT(receiver().ids(), ElementsAre("orders:m-1", "orders:m-2"));
}

TEST_F(Webhooks, CallsGoThroughTheProxyThatIsGiven) {
  produce(numbered(1));
  Program replica = call("http://receiver.invalid/ok", {"--webhook-proxy", receiver().url("/")});

  ASSERT_TRUE(isEmpty()) << replica.output();
  EXPECT_EQ(receiver().calls().at(0).at("path"), "http://receiver.invalid/ok");
}

// shows: webhooks/signed-as-standard
TEST_F(Webhooks, AKeySignsBesideTheSecret) {
  const std::string key = "whsk_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
  write("key", key + "\n");
  produce(numbered(1));
  Program replica = call(receiver().url("/ok"), {"--webhook-key-file", at("key")});
  ASSERT_TRUE(isEmpty()) << replica.output();

  const json call = receiver().calls().at(0);
  const webhook::Signed made{call.at("webhook-id"), std::stoll(call.at("webhook-timestamp").get<std::string>()), "b"};
  const std::vector secrets{webhook::parseSecret(secret()).value()};
  const webhook::SigningKey signer = webhook::parseSigningKey(key).value();
  EXPECT_EQ(call.at("webhook-signature"), webhook::signatureOf(made, secrets, &signer));
  EXPECT_THAT(call.at("webhook-signature").get<std::string>(), HasSubstr(" v1a,"));
}

TEST_F(Webhooks, SignAndVerifyByHandKnowTheOrder) {
  const Run made = tenure({"webhook", "sign", "--secret-file", at("secret"), "--id", "orders:1", "--timestamp",
                           "1700000000", "--election", "a b", "--token", "7", "--group", "g/1", "--number", "3"},
                          "body");
  ASSERT_EQ(made.exit, 0) << made.output;
  EXPECT_THAT(made.output, AllOf(HasSubstr("tenure-election: a%20b\n"), HasSubstr("tenure-group: g%2F1\n"),
                                 HasSubstr("tenure-order: v1,7,3,")));
  const auto header = [&](const std::string& name) {
    const std::size_t from = made.output.find(name + ": ") + name.size() + 2;
    return made.output.substr(from, made.output.find('\n', from) - from);
  };
  const auto verify = [&](const std::string& group) {
    return tenure({"webhook", "verify", "--secret-file", at("secret"), "--id", "orders:1", "--timestamp", "1700000000",
                   "--signature", header("webhook-signature"), "--order", header("tenure-order"), "--election", "a b",
                   "--group", group},
                  "body");
  };
  EXPECT_EQ(verify("g/1").exit, 0);
  EXPECT_EQ(verify("g/2").exit, 65);
  EXPECT_EQ(tenure({"webhook", "sign", "--secret-file", at("secret"), "--id", "o", "--token", "7"}, "body").exit, 64);
}

/// Of the guide: examples/webhook_receiver, in three languages.
class ExampleReceiver : public Webhooks, public testing::WithParamInterface<const char*> {
 protected:
  Program::Arguments command(const std::string& port) const {
    const std::string language = GetParam();
    const std::string script = std::string(TENURE_SOURCE_DIR) + "/examples/webhook_receiver." + language;
    if (language == "cpp") return {TENURE_BINARY_DIR "/examples/webhook_receiver", port, at("secret")};
    return {"/usr/bin/env", language == "py" ? "python3" : "node", script, port, at("secret")};
  }
};

/// Calls with an order of its own choice, as a leader that woke late would: prints the status.
constexpr const char* callByHand = R"py(
import sys, time, urllib.request
sys.path.insert(0, sys.argv[1] + "/examples")
from webhook_receiver import mac, secrets_in
port, secret_file, token = sys.argv[2:5]
secret, = secrets_in(secret_file)
call_id, stamp, body = "orders:late", str(int(time.time())), b"late"
fields = (call_id, stamp, "by hand", "", token, "")
order = mac(secret, b"v1." + b"".join(b"%d:%s" % (len(f), f.encode()) for f in fields))
headers = {"webhook-id": call_id, "webhook-timestamp": stamp, "tenure-election": "by%20hand",
           "webhook-signature": "v1," + mac(secret, f"{call_id}.{stamp}.".encode() + body),
           "tenure-order": f"v1,{token},,{order}"}
try:
    print(urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/", body, headers)).status)
except urllib.error.HTTPError as error:
    print(error.code)
)py";

// shows: webhooks/stale-leaders
TEST_P(ExampleReceiver, TakesSoundCallsOnceAndRefusesAFormerLeaders) {
  const std::string port = std::to_string(freePorts(1).front());
  Program receiver(command(port), at("received"));
  if (std::string(GetParam()) == "mjs")
    if (Program probe({"/usr/bin/env", "node", "--version"}, at("node")); exitOf(probe) != 0)
      GTEST_SKIP() << "needs node: " << probe.output();
  write("by_hand.py", callByHand);
  int calls = 0;  // each has an output of its own, as the first ones may find no receiver
  const auto byHand = [&](const std::string& token) {
    Program call({"/usr/bin/env", "python3", at("by_hand.py"), TENURE_SOURCE_DIR, port, at("secret"), token},
                 at("status" + std::to_string(++calls)));
    exitOf(call);
    return call.output();
  };
  ASSERT_TRUE(eventually([&] { return byHand("7") == "200\n"; })) << receiver.output();
  produce(numbered(2));
  Program replica = call("http://127.0.0.1:" + port + "/", {"--max-attempts", "1"});
  ASSERT_TRUE(isEmpty()) << replica.output();

  EXPECT_THAT(deadLetters(), testing::SizeIs(0));
  EXPECT_EQ(receiver.output(), "orders:late late\norders:m-1 b\norders:m-2 b\n");
  EXPECT_EQ(byHand("8"), "200\n") << "it came before";
  EXPECT_EQ(byHand("6"), "409\n") << "of a former leader";
}
INSTANTIATE_TEST_SUITE_P(Languages, ExampleReceiver, testing::Values("py", "mjs", "cpp"));

TEST_F(Webhooks, CheckSaysThatOneUrlHoldsUpOneLine) {
  produce(numbered(1));
  const Arguments url{"check",     "--queue", queue(), "--webhook", "https://a.example/", "--webhook-secret-file",
                      at("secret")};
  const Run one = tenure(url);
  EXPECT_EQ(one.exit, 1) << one.output;
  EXPECT_THAT(one.output, HasSubstr("holds up all messages"));

  Arguments more = url;
  more.insert(more.end(), {"--lanes", "4"});
  EXPECT_THAT(tenure(more).output, Not(HasSubstr("holds up all messages")));
  more = url;
  more.insert(more.end(), {"--webhook-key-file", at("nowhere")});
  EXPECT_EQ(tenure(more).exit, 78);
}

TEST_F(Webhooks, BadOptionsAreNamed) {
  for (const auto& [arguments, text] : std::vector<std::pair<Arguments, const char*>>{
           {{"--webhook", "ftp://a.example/"}, "--webhook"},
           {{"--webhook", "https://user:sesame@a.example/"}, "--webhook"},
           {{"--webhook", "https://a.example/", "--webhook-secret-file", at("nowhere")}, "--webhook-secret-file"},
           {{"--webhook", "https://a.example/", "--sql", "SELECT 1"}, "--sql"}}) {
    Arguments all{"--queue", queue()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Run run = tenure(inElection("consume", all));
    EXPECT_NE(run.exit, 0);
    EXPECT_THAT(run.output, AllOf(HasSubstr(text), Not(HasSubstr("sesame"))));
  }
  write("bad", "whsec_c2hvcnQ=\n");
  const Run run = tenure(inElection(
      "consume", {"--queue", queue(), "--webhook", "https://a.example/", "--webhook-secret-file", at("bad")}));
  EXPECT_EQ(run.exit, 78);
  EXPECT_THAT(run.output, AllOf(HasSubstr("whsec_"), Not(HasSubstr("c2hvcnQ"))));
}

}  // namespace
}  // namespace tenure::test
