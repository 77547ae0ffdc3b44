#include "career/last_will/last_will_helper.hpp"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "base/asio_loop.hpp"
#include "career/last_will/last_will_machine.hpp"
#include "coordination/zookeeper.hpp"
#include "process/process_tree.hpp"

namespace tenure::last_will {
namespace {

using Stream = boost::asio::posix::stream_descriptor;

bool isReadable(int descriptor) noexcept {
  pollfd one{descriptor, POLLIN, 0};
  return poll(&one, 1, 0) == 1;
}

void wipe(std::string& secret) noexcept {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

class LastWillHelper final : private ISessionObserver {
 public:
  explicit LastWillHelper(HelperPost post)
      : channel_(std::move(post.channel)),
        lineStream_(context_, channel_.descriptor()),
        owner_(context_, post.owner.get()),
        ownerHandle_(std::move(post.owner)),
        ownerPid_(post.ownerPid) {}
  ~LastWillHelper() override {
    lineStream_.release();
    owner_.release();
    if (childrenStream_.is_open()) childrenStream_.release();
    wipe(will_);
  }

  void run() {
    static_cast<void>(channel_.send(encodeReady()));
    listen();
    when(owner_, [this] { ownerIsGone(); });
    context_.run();
  }

 private:
  template <class Happened>
  static void when(Stream& stream, Happened happened) {
    stream.async_wait(Stream::wait_read, [happened](const boost::system::error_code& error) {
      if (!error) happened();
    });
  }

  // --- while the candidate lives

  void listen() {
    when(lineStream_, [this] {
      if (isGone_) return;
      if (hear()) return listen();
      isPastItsEnd(ownerPid_) ? ownerIsGone() : feed(LineEnded{});
    });
  }

  /// False when the line is over.
  bool hear() {
    std::optional<IpcChannel::Packet> packet = channel_.receive();
    if (!packet) return false;
    switch (wordOf(packet->bytes).value_or(Word::ready)) {
      case Word::will: replaceWill(std::move(packet->bytes)); break;
      case Word::revoke:
        wipe(will_);
        feed(WillRevoked{});
        break;
      case Word::children:
        if (!packet->descriptors.empty()) children_ = std::move(packet->descriptors.front());
        break;
      case Word::dismiss: feed(Dismissed{}); break;
      case Word::ready: break;
    }
    return true;
  }

  /// The will stays packed until it is needed, so that there is one place to wipe.
  void replaceWill(std::string packet) {
    wipe(will_);
    will_ = std::move(packet);
    const std::optional<Outline> outline = outlineOf(will_);
    outline ? feed(WillMade{*outline}) : feed(WillRevoked{});
  }

  // --- when the candidate is gone

  void ownerIsGone() {
    if (std::exchange(isGone_, true)) return;
    // The candidate's last packets count, also when its death is noticed first.
    while (isReadable(channel_.descriptor()) && hear()) {
    }
    if (children_) {
      childrenStream_.assign(children_.get());
      when(childrenStream_, [this] { hearOfChildren(); });
    }
    feed(CandidateGone{.copiesLeft = !channel_.otherEndGone(), .awaitsChildren = static_cast<bool>(children_)});
  }

  void hearOfChildren() {
    char word = 0;
    feed(ChildrenGone{read(children_.get(), &word, 1) == 1});
  }

  void onConnected(const SessionInfo&) override { feed(Connected{}); }
  void onSuspended() override {}
  void onExpired() override {}
  void onFatal(const Error&) override { feed(SessionOver{}); }

  // --- what the machine wants

  void feed(const Input& input) {
    for (const Action action : machine_.on(input, loop_.now())) {
      switch (action) {
        case Action::connect: connect(); break;
        case Action::connectAnew: connectAnew(); break;
        case Action::resign: resign(); break;
        case Action::close: coordination_->close([this] { feed(Closed{}); }); break;
        case Action::end: context_.stop(); break;
      }
    }
    setTimer();
  }

  void connect() {
    std::optional<Orders> orders = decodeWill(will_);
    wipe(will_);
    resignation_ = std::move(orders->resignation);
    zookeeper_ = std::move(orders->zookeeper);
    start(makeZooKeeper(loop_, zookeeper_, orders->session));
  }

  void connectAnew() {
    anew_ = true;
    loop_.post([this] { start(makeZooKeeper(loop_, zookeeper_)); });  // we may be inside a call of the other one
  }

  void start(Result<std::unique_ptr<ICoordination>> coordination) {
    if (!coordination) return loop_.post([this] { feed(SessionOver{}); });
    coordination_ = *std::move(coordination);
    coordination_->start(*this);
  }

  void resign() {
    if (anew_) return resignAnew();
    const std::string doubt(machine_.doubt());
    coordination_->multi(doubt.empty() ? resignation_ : withoutProof(resignation_, doubt),
                         [this](const auto& result) { feed(resigned(result)); });
  }

  /// Our znode went with its session. The marker is read first: it may have been made again, and count from zero.
  void resignAnew() {
    const SetOp part = *markerPartOf(resignation_);
    coordination_->get(part.path, {}, [this, part](const Result<Node>& node) {
      if (!node) return feed(resigned(node));
      if (!isOfThisWill(node->data, part)) return feed(Resigned{});
      coordination_->set(part.path, part.data, node->stat.version,
                         [this](const auto& result) { feed(resigned(result)); });
    });
  }

  template <class T>
  static Resigned resigned(const Result<T>& result) {
    return {!result && (result.error().is(Errc::outcomeUnknown) || result.error().is(Errc::unavailable))};
  }

  void setTimer() {
    loop_.cancel(std::exchange(timer_, 0));
    if (machine_.wakeAt() == BootTime::max()) return;
    timer_ = loop_.after(std::max(machine_.wakeAt() - loop_.now(), Duration::zero()), [this] { feed(Tick{}); });
  }

  boost::asio::io_context context_{1};
  AsioLoop loop_{context_};
  IpcChannel channel_;
  Stream lineStream_;
  Stream owner_;
  Descriptor ownerHandle_;
  pid_t ownerPid_;
  Descriptor children_;
  Stream childrenStream_{context_};
  bool isGone_ = false;
  std::string will_;  // as it came
  LastWillMachine machine_;
  std::vector<MultiOp> resignation_;
  ZooKeeperOptions zookeeper_;
  bool anew_ = false;
  std::unique_ptr<ICoordination> coordination_;
  TimerId timer_ = 0;
};

}  // namespace
}  // namespace tenure::last_will

namespace tenure {

void keepLastWill(HelperPost post) { last_will::LastWillHelper(std::move(post)).run(); }

}  // namespace tenure
