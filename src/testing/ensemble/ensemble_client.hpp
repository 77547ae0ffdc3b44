/// A client of the in-memory ensemble: what the C client does, in virtual time.
///
///   connecting ──welcome──▶ connected ──silence of 2/3 timeout, connection closed──▶ connecting (the next server)
///        └── the server says the session is gone ──▶ expired ──▶ connecting, next generation
///
/// It pings after a third of the timeout, unless a request is outstanding. It learns of its session's end only from a
/// server that it reaches.
#pragma once

#include "testing/ensemble/ensemble_world.hpp"

namespace tenure {

class MemoryClient final : public ICoordination, private ensemble::IClientEnd {
 public:
  struct Settings {
    std::chrono::milliseconds sessionTimeout{10'000};
    std::string digest{};  // "user:password"
    /// Tried in this order; empty means all of them, in an order drawn from the seed.
    std::vector<ensemble::MachineId> servers{};
    /// As with makeZooKeeper(): this session and no other, which is fatal when it has ended.
    std::optional<LeftSession> left{};
    /// Callbacks run on this loop; the ensemble's when null.
    ILoop* loop = nullptr;
  };

  MemoryClient(ensemble::World& world, Settings settings);
  /// Without close(), as when the process dies: the connection goes, the session lingers.
  ~MemoryClient() override;

  /// To cut it off, freeze it, or plan its faults.
  ensemble::MachineId machine() const noexcept { return machine_; }
  ensemble::SessionId session() const noexcept { return session_; }
  bool connected() const noexcept { return state_ == State::connected; }
  /// Breaks the connection at once; the client tries the next server.
  void dropConnection() {
    if (wire_) lost();
  }
  /// Where it is attached, or trying to be.
  ensemble::MachineId server() const noexcept { return settings_.servers[next_]; }

  void start(ISessionObserver& observer) override;
  void close(std::function<void()> done) override;
  void create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) override;
  void remove(std::string path, std::int32_t version, Callback<void> done) override;
  void set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) override;
  void get(std::string path, WatchCallback watch, Callback<Node> done) override;
  void children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) override;
  void exists(std::string path, WatchCallback watch, Callback<NodeStat> done) override;
  void multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) override;
  void sync(std::string path, Callback<void> done) override;
  void isWorldWritable(std::string path, Callback<bool> done) override;

 private:
  enum class State { idle, connecting, connected, closing, over };
  using Answer = std::function<void(ensemble::Reply)>;
  struct Outstanding {
    std::int64_t xid;
    bool writes;
    Answer answer;
  };
  using Watches = std::map<std::string, std::vector<WatchCallback>>;

  void onWelcome(const ensemble::Welcome& welcome) override;
  void onReply(std::int64_t xid, ensemble::Reply reply) override;
  void onEvent(const std::string& path, WatchEvent event) override;
  void onPong() override { heard(); }

  void connect();
  void lost();
  void expired();
  void over();
  void failOutstanding();
  void send(std::int64_t xid, ensemble::Operation operation);
  void heard();
  void setHeartbeat();
  void onHeartbeat();
  void leaveWatchesAgain();
  void take(Watches& watches, const std::string& path, WatchEvent event);

  template <class T, class Extract>
  void ask(ensemble::Operation operation, const Result<void>& checked, Callback<T> done, Extract extract);
  /// Runs `task` on the client's loop, unless the client is gone or over by then.
  void deliver(Task task);

  ensemble::World* world_;
  Settings settings_;
  ensemble::MachineId machine_;
  ISessionObserver* observer_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  State state_ = State::idle;
  std::size_t next_ = 0;  // of settings_.servers
  std::size_t tried_ = 0;
  std::shared_ptr<ensemble::Connection> wire_;
  std::uint64_t connection_ = 0;
  std::uint64_t generation_ = 1;
  ensemble::SessionId session_{};
  std::chrono::milliseconds timeout_;
  ensemble::Zxid lastSeen_ = 0;
  BootTime lastHeard_{};
  BootTime greetedAt_{};
  BootTime lastSent_{};
  std::int64_t lastXid_ = 0;
  std::deque<Outstanding> outstanding_;
  Watches dataWatches_;
  Watches absentWatches_;
  Watches childWatches_;
  ensemble::Timer heartbeat_;
  ensemble::Timer reconnect_;
  ensemble::Timer farewell_;
  std::function<void()> closed_;
};

}  // namespace tenure
