#include "coordination/zookeeper_requests.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "coordination/zookeeper_limits.hpp"

namespace tenure::zookeeper {
namespace {

NodeStat statOf(const Stat& stat) noexcept {
  return {.czxid = stat.czxid,
          .mzxid = stat.mzxid,
          .pzxid = stat.pzxid,
          .version = stat.version,
          .cversion = stat.cversion,
          .ephemeralOwner = stat.ephemeralOwner,
          .dataLength = stat.dataLength,
          .childCount = stat.numChildren};
}

bool anybodyMayChange(const ACL_vector& acl) noexcept {
  const int changes = ZOO_PERM_WRITE | ZOO_PERM_CREATE | ZOO_PERM_DELETE | ZOO_PERM_ADMIN;
  const std::span entries(acl.data, static_cast<std::size_t>(acl.count));
  return std::any_of(entries.begin(), entries.end(), [&](const ACL& entry) {
    return (entry.perms & changes) != 0 && std::string_view(entry.id.scheme) == "world";
  });
}

}  // namespace

int createFlags(CreateMode mode) noexcept {
  switch (mode) {
    case CreateMode::persistent: return 0;
    case CreateMode::ephemeral: return ZOO_EPHEMERAL;
    case CreateMode::ephemeralSequential: return ZOO_EPHEMERAL | ZOO_SEQUENCE;
  }
  return 0;
}

// The client's completions: each turns what it brings into a value at once, since the client frees it on return.
struct Session::Completions {
  template <class T>
  static RequestFor<T>& requestOf(const void* data) noexcept {
    return *const_cast<RequestFor<T>*>(static_cast<const RequestFor<T>*>(data));
  }
  template <class T, class Value>
  static void answer(int rc, const void* data, Value value) {
    RequestFor<T>& request = requestOf<T>(data);
    if (rc != ZOK) return request.session->fail(request, rc);
    request.session->settle(request, rc, value());
  }

  static void created(int rc, const char* path, const Stat* stat, const void* data) noexcept {
    answer<CreatedNode>(rc, data, [&] { return Result<CreatedNode>(CreatedNode{path, statOf(*stat)}); });
  }
  static void done(int rc, const void* data) noexcept {
    answer<void>(rc, data, [] { return Result<void>(); });
  }
  static void stat(int rc, const Stat* stat, const void* data) noexcept {
    answer<NodeStat>(rc, data, [&] { return Result<NodeStat>(statOf(*stat)); });
  }
  static void node(int rc, const char* value, int length, const Stat* stat, const void* data) noexcept {
    answer<Node>(rc, data, [&] {
      const auto size = static_cast<std::size_t>(std::max(length, 0));  // -1: the znode has null for data
      return Result<Node>(Node{std::string(value == nullptr ? "" : value, value == nullptr ? 0 : size), statOf(*stat)});
    });
  }
  static void children(int rc, const String_vector* names, const void* data) noexcept {
    answer<std::vector<std::string>>(rc, data, [&] {
      const std::span all(names->data, static_cast<std::size_t>(names->count));
      return Result<std::vector<std::string>>(std::vector<std::string>(all.begin(), all.end()));
    });
  }
  static void synced(int rc, const char*, const void* data) noexcept { done(rc, data); }
  static void acl(int rc, ACL_vector* acl, Stat*, const void* data) noexcept {
    answer<bool>(rc, data, [&] { return Result<bool>(anybodyMayChange(*acl)); });
  }
  static void multi(int rc, const void* data) noexcept {
    auto& request = static_cast<MultiRequest&>(requestOf<std::vector<std::string>>(data));
    request.session->settle(request, rc, request.outcome(rc));
  }
};

// The life of a request

template <class T>
Session::RequestFor<T>* Session::admit(std::unique_ptr<RequestFor<T>> request, const Result<void>& checked,
                                       WatchCallback watch) {
  if (!checked || !connected_ || zoo_state(handle_) != ZOO_CONNECTED_STATE) {
    refuse(std::move(request->done), checked ? notConnected(request->path) : checked.error());
    return nullptr;
  }
  if (watch) {
    request->watch = ++lastWatch_;
    watches_.emplace(request->watch, std::move(watch));
  }
  RequestFor<T>* const admitted = request.get();
  requests_.emplace(static_cast<const void*>(admitted), std::move(request));
  return admitted;
}

template <class T>
void Session::settle(RequestFor<T>& request, int rc, Result<T> result) {
  const bool watchKept = rc == ZOK || (rc == ZNONODE && request.keepsWatchWhenAbsent);
  if (!watchKept) watches_.erase(request.watch);
  if (rc == ZSESSIONMOVED) end_ = SessionEnd::expired;  // somebody else goes on with it: ours no more
  if (request.done)
    deliver([done = std::move(request.done), result = std::move(result)]() mutable { done(std::move(result)); });
  requests_.erase(static_cast<const void*>(&request));
  const bool moreAreDue =
      std::any_of(requests_.begin(), requests_.end(), [](const auto& each) { return !each.second->abandoned; });
  nudge_.answered(loop_->now(), connected_ && moreAreDue);
}

template <class T>
void Session::fail(RequestFor<T>& request, int rc) {
  settle(request, rc, Result<T>(errorOf(rc, request.effect, request.path)));
}

void Session::sent(Request& request, int rc) {
  if (rc == ZOK)
    nudge_.sent(loop_->now());
  else
    request.abandon(rc);  // the client may hold its address: it stays until the handle is closed
  wake();
}

void Session::failPending(int rc) {
  for (auto& [address, request] : requests_) request->abandon(rc);
  if (handle_ == nullptr) requests_.clear();
}

watcher_fn Session::watcherOf(const Request& request) const noexcept {
  return request.watch == 0 ? nullptr : &Session::onWatchEvent;
}

void* Session::watchContext(const Request& request) noexcept {
  return reinterpret_cast<void*>(request.watch);  // NOLINT(performance-no-int-to-ptr): carried, never followed
}

const ACL_vector* Session::acl() const noexcept {
  return digest_.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL;
}

// The operations

void Session::create(std::string path, std::string data, CreateMode mode, Callback<CreatedNode> done) {
  Result<void> checked = checkPath(path, mode);
  if (checked) checked = checkSize(path, data);
  auto request = std::make_unique<RequestFor<CreatedNode>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_acreate2(handle_, admitted->path.c_str(), data.data(), sizeOf(data), acl(), createFlags(mode),
                                 &Completions::created, admitted));
}

void Session::remove(std::string path, std::int32_t version, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<void>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_adelete(handle_, admitted->path.c_str(), version, &Completions::done, admitted));
}

void Session::set(std::string path, std::string data, std::int32_t version, Callback<NodeStat> done) {
  Result<void> checked = checkPath(path);
  if (checked) checked = checkSize(path, data);
  auto request = std::make_unique<RequestFor<NodeStat>>(*this, Effect::writes, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted,
         zoo_aset(handle_, admitted->path.c_str(), data.data(), sizeOf(data), version, &Completions::stat, admitted));
}

void Session::get(std::string path, WatchCallback watch, Callback<Node> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<Node>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awget(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                              &Completions::node, admitted));
}

void Session::children(std::string path, WatchCallback watch, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkPath(path);
  auto request =
      std::make_unique<RequestFor<std::vector<std::string>>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awget_children(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                                       &Completions::children, admitted));
}

void Session::exists(std::string path, WatchCallback watch, Callback<NodeStat> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<NodeStat>>(*this, Effect::reads, std::move(path), std::move(done));
  request->keepsWatchWhenAbsent = true;
  if (auto* admitted = admit(std::move(request), checked, std::move(watch)))
    sent(*admitted, zoo_awexists(handle_, admitted->path.c_str(), watcherOf(*admitted), watchContext(*admitted),
                                 &Completions::stat, admitted));
}

void Session::multi(std::vector<MultiOp> ops, Callback<std::vector<std::string>> done) {
  const Result<void> checked = checkOps(ops);
  auto request = std::make_unique<MultiRequest>(*this, std::move(ops), std::move(done));
  MultiRequest& parts = *request;
  auto* admitted = admit<std::vector<std::string>>(std::move(request), checked);
  if (admitted == nullptr) return;
  sent(*admitted, zoo_amulti(handle_, static_cast<int>(parts.raw.size()), parts.raw.data(), parts.results.data(),
                             &Completions::multi, admitted));
}

void Session::sync(std::string path, Callback<void> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<void>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_async(handle_, admitted->path.c_str(), &Completions::synced, admitted));
}

void Session::isWorldWritable(std::string path, Callback<bool> done) {
  const Result<void> checked = checkPath(path);
  auto request = std::make_unique<RequestFor<bool>>(*this, Effect::reads, std::move(path), std::move(done));
  if (auto* admitted = admit(std::move(request), checked))
    sent(*admitted, zoo_aget_acl(handle_, admitted->path.c_str(), &Completions::acl, admitted));
}

}  // namespace tenure::zookeeper
