// A tiny ledger on a store of one's own: coins go from one account to another, and only the leader may move them.
//
//     append_file_store HOST:PORT[,HOST:PORT…] FILE
//
// What makes a fenced store of FILE is driver.hpp, an IKeyValueDriver; all that follows is as with any other store.
// Start two and stop one, or kill it: no coin is lost, and none is moved by who no longer leads. `examples/run
// append_file_store` starts a ZooKeeper server and this program.
#include <iostream>
#include <tenure/candidate.hpp>

#include "driver.hpp"

namespace {

class Ledger final : public tenure::ILeaderCareer {
 public:
  explicit Ledger(tenure::IFencedStore& store) : store_(store) {}

  // From here on no former leader can commit, however late it wakes up; so what is read now stays true.
  void inaugurate(const tenure::Term& term) override {
    store_.claim(term).value();
    const auto transaction = store_.begin(term).value();
    ann_ = std::stoi(transaction->get("ann").value().value_or("100"));
    ben_ = std::stoi(transaction->get("ben").value().value_or("0"));
    tell("goes on with");
  }

  // One record of the file: both accounts and the fence are in it, or none of them. Where it fails, value() throws and
  // the term ends; whoever leads next reads what really is there.
  bool execute(const tenure::Term& term) override {
    if (ann_ == 0) return false;
    const auto transaction = store_.begin(term).value();
    transaction->put("ann", std::to_string(ann_ - 1)).value();
    transaction->put("ben", std::to_string(ben_ + 1)).value();
    transaction->commit().value();
    --ann_, ++ben_;
    tell("moved a coin:");
    return false;  // nothing more to do for the idle interval
  }

  void handOver(const tenure::Term&) override { store_.release(); }

 private:
  void tell(const char* what) const {
    std::cout << what << " ann " << ann_ << ", ben " << ben_ << ", together " << ann_ + ben_ << std::endl;
  }

  tenure::IFencedStore& store_;
  int ann_ = 0;
  int ben_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: append_file_store HOST:PORT[,HOST:PORT…] FILE\n";
    return 64;
  }
  try {
    tenure::CandidateOptions options;
    options.zookeeper.hosts = argv[1];
    options.election = "ledger";
    options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
    options.limits.idleInterval = std::chrono::milliseconds{500};

    const auto log = tenure::makeLogSink();  // to standard error
    auto driver = std::make_unique<append_file_store::Driver>(append_file_store::Options{.file = argv[2]});
    const auto store = tenure::spi::openStore(std::move(driver), *log);
    Ledger ledger(*store);
    tenure::Candidate candidate(options, ledger, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
