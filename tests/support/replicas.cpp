#include "support/replicas.hpp"

#include <algorithm>

#include "base/random.hpp"

namespace tenure::test {
namespace {

/// The token of the last term that this replica's log says began; 0 for none.
std::int64_t lastTokenOf(const std::string& log) {
  const std::size_t began = log.rfind(" term_began ");
  if (began == std::string::npos) return 0;
  return std::stoll(log.substr(log.find("token=", began) + 6));
}

}  // namespace

Replicas::Replicas(std::string hosts) : hosts_(std::move(hosts)), election_("orders-" + freshUuid().substr(0, 8)) {
  createLedger(file());
}

Program& Replicas::start(Program::Arguments extra) {
  const std::string id = "replica-" + std::to_string(replicas_.size() + 1);
  Program::Arguments arguments{TENURE_BINARY_DIR "/test_programs/ledger_replica", "hosts=" + hosts_,
                               "election=" + election_, "file=" + file().string(), "id=" + id};
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  return replicas_.emplace_back(arguments, folder_ / (id + ".log"));
}

Program& Replicas::leader() {
  return *std::max_element(replicas_.begin(), replicas_.end(), [](const Program& a, const Program& b) {
    return lastTokenOf(a.output()) < lastTokenOf(b.output());
  });
}

bool Replicas::awaitTerms(std::size_t count) {
  return eventually([&] { return occurrences(logs(), " term_began ") >= count; });
}

bool Replicas::awaitRows(std::size_t count) const {
  return eventually([&] { return countLedger(file()) >= count; }, std::chrono::minutes{2});
}

std::string Replicas::logs() const {
  std::string all;
  for (const Program& replica : replicas_) all += replica.output();
  return all;
}

}  // namespace tenure::test
