// Files of many tenants are imported beside each other, those of one tenant one after the other: a tenant with a slow
// file keeps nobody waiting but himself.
//
//     tenant_import HOST:PORT[,HOST:PORT…] FILE
//
// FILE is both the queue and the database. Every start appends the same twelve files of three tenants.
#include <iostream>
#include <sstream>
#include <tenure/candidate.hpp>
#include <tenure/consumer.hpp>
#include <tenure/sqlite.hpp>
#include <thread>

namespace {

using namespace std::chrono_literals;

void produce(const tenure::sqlite::Options& database) {
  std::vector<tenure::NewMessage> files;
  for (const int number : {1, 2, 3, 4})
    for (const std::string tenant : {"acme", "globex", "initech"}) {
      const std::string file = tenant + "/" + std::to_string(number);
      files.push_back({.id = {file}, .group = {tenant}, .body = file, .headers = {}});
    }
  tenure::sqlite::openSink(database).value()->append(files).value();
}

// One line at a time, from whichever lane.
void say(const std::string& what, const std::string& file) {
  std::ostringstream line;
  line << what << ' ' << file << '\n';
  std::cout << line.str() << std::flush;
}

// The download takes long and touches no transaction, so the lanes do it beside each other; on SQLite the statements
// that follow have the file for themselves until the commit.
tenure::Outcome import(const tenure::Delivery& delivery) {
  const std::string& file = delivery.message.body;
  say("fetches", file);
  std::this_thread::sleep_for(file.starts_with("acme") ? 300ms : 30ms);  // a download; acme's line is slow
  tenure::ISqlStatements& sql = *delivery.transaction.sql();
  const tenure::SqlParameter row[] = {{":tenant", delivery.message.group.value}, {":file", file}};
  sql.execute("CREATE TABLE IF NOT EXISTS imported(n INTEGER PRIMARY KEY, tenant TEXT, file TEXT)").value();
  sql.execute("INSERT INTO imported(tenant, file) VALUES(:tenant, :file)", row).value();
  say("imported", file);
  return tenure::Outcome::done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tenant_import HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  tenure::CandidateOptions options;
  options.zookeeper.hosts = argv[1];
  options.election = "tenant-import";
  options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
  const tenure::sqlite::Options file{.file = argv[2]};

  try {
    produce(file);
    const auto log = tenure::makeLogSink();  // to standard error
    tenure::sqlite::Database database(file, *log);
    tenure::Consumer consumer(database.source(), database.store(), import, {.ordering = tenure::Ordering::perGroup(3)},
                              *log);
    tenure::Candidate candidate(options, consumer, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
