// Nine hundred requests to refresh three pages take three runs, and a hundred that come while one of them runs take one
// more: a run stands for all requests for its page that waited when it began.
//
//     cache_refresh HOST:PORT[,HOST:PORT…] FILE
//
// FILE is both the queue and the cache. Every start appends new requests.
#include <chrono>
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/sqlite.hpp>

namespace {

class Cache {
 public:
  explicit Cache(const tenure::sqlite::Options& file) : requests_(tenure::sqlite::openSink(file).value()) {}

  void request(const std::string& page, int times) {
    std::vector<tenure::NewMessage> messages;
    for (int i = 0; i < times; ++i)
      messages.push_back({.id = {prefix_ + std::to_string(++number_)}, .group = {page}, .body = {}, .headers = {}});
    requests_->append(messages).value();
  }

  // A request says nothing but which page: what the page holds is looked up now, so whoever asked before is served.
  tenure::Outcome refresh(const tenure::Delivery& delivery) {
    const std::string& page = delivery.message.group.value;
    if (page == "home" && !std::exchange(busy_, true)) request("home", 100);  // its visitors go on asking
    tenure::ISqlStatements& sql = *delivery.transaction.sql();
    const tenure::SqlParameter name[] = {{":page", page}};
    sql.execute("CREATE TABLE IF NOT EXISTS cache(page TEXT PRIMARY KEY, runs INTEGER)").value();
    const auto runs =
        sql.execute("INSERT INTO cache VALUES(:page, 1) ON CONFLICT DO UPDATE SET runs = runs + 1 RETURNING runs", name)
            .value();
    std::cout << page << " refreshed, run " << std::get<std::int64_t>(runs[0][0]) << std::endl;
    return tenure::Outcome::done();
  }

 private:
  std::unique_ptr<tenure::IMessageSink> requests_;
  const std::string prefix_ = std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "/";
  int number_ = 0;
  bool busy_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cache_refresh HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "cache-refresh";
  const tenure::sqlite::Options file{.file = argv[2]};

  try {
    Cache cache(file);
    for (const std::string page : {"home", "news", "shop"}) cache.request(page, 300);
    const auto log = tenure::makeLogSink();  // to standard error: requests_coalesced says how many a run stood for
    tenure::sqlite::Database database(file, *log);
    tenure::Consumer consumer(
        database.source(), database.store(), [&](const tenure::Delivery& delivery) { return cache.refresh(delivery); },
        {.coalesce = tenure::Coalesce::byKey}, *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
