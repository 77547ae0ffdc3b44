// A counter that only the leader may move, kept in ZooKeeper itself: no other server, no queue, no database.
//
//     counter_zookeeper HOST:PORT[,HOST:PORT…]
//
// Any career can use a fenced store, not only a consumer: claim first, read then, and write under the claim. Stop this
// program and start it again, or start two and stop one: no number is left out, and none comes twice.
// `examples/run counter_zookeeper` starts a ZooKeeper server and this program.
#include <iostream>
#include <tenure/candidate.hpp>
#include <tenure/spi/store.hpp>
#include <tenure/zookeeper.hpp>

namespace {

class Counter final : public tenure::ILeaderCareer {
 public:
  explicit Counter(tenure::IFencedStore& store) : store_(store) {}

  // From here on no former leader can commit, however late it wakes up; so what is read now stays true.
  void inaugurate(const tenure::Term& term) override {
    store_.claim(term).value();
    const auto stored = store_.begin(term).value()->get("counter").value();
    count_ = stored ? std::stoll(*stored) : 0;
    std::cout << "counts on from " << count_ << std::endl;
  }

  // One quorum write: the fence, this candidacy and the counter's version are checked in it. Where it fails, value()
  // throws and the term ends; whoever leads next reads what really is there.
  bool execute(const tenure::Term& term) override {
    const auto transaction = store_.begin(term).value();
    transaction->put("counter", std::to_string(count_ + 1)).value();
    transaction->commit().value();
    std::cout << "counted " << ++count_ << std::endl;
    return false;  // nothing more to do for the idle interval
  }

  void handOver(const tenure::Term&) override { store_.release(); }

 private:
  tenure::IFencedStore& store_;
  long long count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: counter_zookeeper HOST:PORT[,HOST:PORT…]\n";
    return 64;
  }
  try {
    tenure::CandidateOptions options;
    options.zookeeper.hosts = argv[1];
    options.election = "counter";
    options.barrierLimit = std::chrono::seconds{0};  // every effect is in the store, where the claim is the barrier
    options.limits.idleInterval = std::chrono::milliseconds{500};
    tenure::zookeeper::StoreOptions place;
    place.zookeeper = options.zookeeper;
    place.name = "counter";

    const auto log = tenure::makeLogSink();  // to standard error
    const auto store = tenure::zookeeper::openStore(place, *log);
    Counter counter(*store);
    tenure::Candidate candidate(options, counter, *log);
    return tenure::runUntilSignalled(candidate);  // until SIGTERM or SIGINT
  } catch (const std::system_error& refused) {
    std::cerr << refused.what() << '\n';
    return static_cast<int>(tenure::ExitStatus::configuration);
  }
}
