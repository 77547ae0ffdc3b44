#include "webhook/calls.hpp"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/threads.hpp"

namespace tenure::webhook {

namespace {

using namespace std::chrono_literals;

/// Connections that are kept open for the next calls.
constexpr long mostIdle = 2048;
/// How often leases and limits are looked at while calls are under way.
constexpr Duration look = 20ms;
/// A call that has waited longer for the lease is signed anew.
constexpr Duration longestWait = 1s;

std::string keyOf(const Term& term, const MessageId& id) { return term.identity().election.value + '\n' + id.value; }

}  // namespace

Calls::Calls(const Setup& setup) : setup_(setup), handles_(setup.options), multi_(curl_multi_init()) {
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, mostIdle);
  const SignalsBlocked inIt;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  pthread_setname_np(thread_.native_handle(), "calls");
}

Calls::~Calls() {
  thread_.request_stop();
  curl_multi_wakeup(multi_);
  thread_.join();
  for (const auto& [handle, entry] : underWay_) curl_multi_remove_handle(multi_, handle);
  underWay_.clear();
  curl_multi_cleanup(multi_);
}

// --- lanes

void Calls::begin(const EntryPtr& entry, Inbox& inbox) {
  const std::lock_guard lock(mutex_);
  entry->inbox = &inbox;
  new_.push_back(entry);
  wake();
}

void Calls::cut(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  if (Inbox* inbox = std::exchange(entry->inbox, nullptr)) std::erase(inbox->ended_, entry);
  if (entry->response) return;
  cut_.push_back(entry);
  wake();
}

void Calls::leave(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  if (Inbox* inbox = std::exchange(entry->inbox, nullptr)) std::erase(inbox->ended_, entry);
  left_.insert_or_assign(keyOf(entry->term, entry->call->request().message->id), entry);
}

Calls::EntryPtr Calls::claim(const Term& term, const Given& given, Inbox& inbox) {
  const std::lock_guard lock(mutex_);
  auto found = left_.extract(keyOf(term, given.message->id));
  if (!found) return nullptr;
  EntryPtr entry = std::move(found.mapped());
  const Message& called = *entry->call->request().message;
  const bool isOfIt = entry->attempt == given.attempt && entry->term.token() == term.token() &&
                      called.body == given.message->body && called.group == given.message->group;
  if (isOfIt) {
    entry->inbox = &inbox;
    if (entry->response) inbox.ended_.push_back(entry);
    return entry;
  }
  if (!entry->response) {
    cut_.push_back(std::move(entry));
    wake();
  }
  return nullptr;
}

void Calls::cutLeft(const Term& term) {
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [&](const auto& each) {
    const EntryPtr& entry = each.second;
    const Term& of = entry->term;
    if (of.token() != term.token() || of.identity().election != term.identity().election) return false;
    if (!entry->response) cut_.push_back(entry);
    return true;
  });
  wake();
}

std::optional<BootTime> Calls::began(const EntryPtr& entry) const {
  const std::lock_guard lock(mutex_);
  return entry->began;
}

std::vector<Calls::EntryPtr> Calls::await(Inbox& inbox, BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  inbox.came_.wait_for(lock, stop, until - BootClock::now(), [&] { return !inbox.ended_.empty(); });
  return std::exchange(inbox.ended_, {});
}

void Calls::wake() {
  if (std::exchange(sleeps_, false)) curl_multi_wakeup(multi_);
}

// --- the thread

void Calls::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::vector<End> ended;
    const bool looks = BootClock::now() >= nextLook_;
    if (looks) endStale(ended);  // first: the thread may have stood still
    beginCalls();
    int running = 0;
    curl_multi_perform(multi_, &running);
    collect(ended);
    if (looks) endLate(ended);
    tell(std::move(ended));
    if (takeNew()) continue;
    curl_multi_poll(multi_, nullptr, 0, longestSleep(), nullptr);
    const std::lock_guard lock(mutex_);
    sleeps_ = false;
  }
}

/// False: there is nothing new, and the thread may sleep.
bool Calls::takeNew() {
  std::vector<EntryPtr> cuts;
  const std::lock_guard lock(mutex_);
  sleeps_ = new_.empty() && cut_.empty();
  waiting_.insert(waiting_.end(), new_.begin(), new_.end());
  new_.clear();
  for (const EntryPtr& entry : std::exchange(cut_, {})) {
    const bool isUnderWay = underWay_.erase(entry->call->handle()) > 0;
    if (isUnderWay) curl_multi_remove_handle(multi_, entry->call->handle());
    if (isUnderWay || std::erase(waiting_, entry) > 0) settleBreaker(*entry, Response::End::cut);
  }
  return !sleeps_;
}

int Calls::longestSleep() const {
  if (underWay_.empty() && waiting_.empty()) return 10'000;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(look).count());
}

/// Looks at the lease right before each call.
void Calls::beginCalls() {
  std::erase_if(waiting_, [this](const EntryPtr& entry) {
    Call& call = *entry->call;
    if (!entry->term.mayBeginWork()) return false;
    if (BootClock::now() - call.began() > longestWait) {
      call.startAnew();
      if (!entry->term.mayBeginWork()) return false;
    }
    underWay_.emplace(call.handle(), entry);
    {
      const std::lock_guard lock(mutex_);
      entry->began = call.began();
    }
    curl_multi_add_handle(multi_, call.handle());
    return true;
  });
}

void Calls::collect(std::vector<End>& ended) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const auto found = underWay_.find(message->easy_handle);
    const CURLcode code = message->data.result;
    ended.push_back({found->second, found->second->call->ended(code)});
    curl_multi_remove_handle(multi_, found->first);
    underWay_.erase(found);
  }
}

template <class IsOver>
void Calls::endThose(std::vector<End>& ended, IsOver isOver) {
  std::erase_if(underWay_, [&](const auto& each) {
    const std::optional<Response> response = isOver(*each.second);
    if (!response) return false;
    ended.push_back({each.second, *response});
    curl_multi_remove_handle(multi_, each.first);
    return true;
  });
}

/// The term of these is over.
void Calls::endStale(std::vector<End>& ended) {
  nextLook_ = BootClock::now() + look;
  endThose(ended, [](const Entry& entry) {
    return entry.term.valid() ? std::nullopt : std::optional(Response{.end = Response::End::cut});
  });
  const std::lock_guard lock(mutex_);
  std::erase_if(left_, [](const auto& each) { return each.second->response && !each.second->term.valid(); });
}

/// What was answered in time is collected before.
void Calls::endLate(std::vector<End>& ended) {
  endThose(ended, [now = BootClock::now()](const Entry& entry) {
    return entry.call->isLate(now) ? std::optional(entry.call->late()) : std::nullopt;
  });
}

void Calls::tell(std::vector<End> ended) {
  if (ended.empty()) return;
  for (const End& each : ended) settleBreaker(*each.entry, each.response.end);
  const std::lock_guard lock(mutex_);
  for (End& each : ended) {
    each.entry->response = std::move(each.response);
    Inbox* inbox = each.entry->inbox;
    if (inbox == nullptr) continue;
    if (inbox->ended_.empty()) inbox->came_.notify_all();
    inbox->ended_.push_back(std::move(each.entry));
  }
}

void Calls::settleBreaker(const Entry& entry, Response::End end) {
  const std::string& origin = entry.call->request().target->origin;
  switch (end) {
    case Response::End::away: return setup_.breaker.failed(origin, entry.isProbe, BootClock::now());
    case Response::End::cut: return setup_.breaker.gaveUp(origin, entry.isProbe);
    default: return setup_.breaker.reached(origin);
  }
}

}  // namespace tenure::webhook
