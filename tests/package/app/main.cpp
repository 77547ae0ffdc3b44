#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/open.hpp>
#include <tenure/sqlite.hpp>
#include <tenure/version.hpp>

namespace {

class Nothing final : public tenure::ILeaderCareer {
  bool execute(const tenure::Term&) override { return false; }
};

/// What becomes of the last will, which is told before there is a session.
class Will final : public tenure::IEventSink {
 public:
  void on(const tenure::Event& event) noexcept override {
    if (event.body.is<tenure::LastWillReady>()) said = "its helper is there";
    if (const auto* lost = event.body.as<tenure::LastWillLost>()) said = lost->why;
    if (!said.empty() && candidate != nullptr) candidate->stop();
  }
  tenure::Candidate* candidate = nullptr;
  std::string said;
};

tenure::CandidateOptions options(const char* election) {
  tenure::CandidateOptions options;
  options.zookeeper.hosts = "127.0.0.1:1";
  options.election = tenure::ElectionName{election};
  options.lastWill.use = true;
  return options;
}

}  // namespace

/// Links the library and uses it as far as that goes without a server.
int main() {
  const auto place = tenure::open("sqlite:unused.db", {tenure::sqlite::component()}).value();
  const auto [source, store] = place->open();
  if (!source || !store || tenure::open("redis://localhost", {tenure::sqlite::component()})) return 1;
  std::cout << "with " TENURE_VERSION "\n";
  Nothing career;
  try {
    tenure::Candidate candidate(options("../x"), career, tenure::noEvents());
  } catch (const std::system_error& refused) {
    std::cout << (refused.code() == tenure::Errc::configurationRefused ? "refused as it should be\n" : "?\n");
  }
  Will will;
  tenure::Candidate candidate(options("x"), career, will);
  will.candidate = &candidate;
  candidate.run();
  std::cout << will.said << '\n';
}
