#include "cli/worker/worker_pool.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "base/backoff.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "cli/handlers/child_command.hpp"
#include "cli/handlers/run_machine.hpp"
#include "cli/worker/answer.hpp"

namespace tenure::cli::worker {
namespace {

using namespace std::chrono_literals;

constexpr auto firstBackoff = 100ms;
constexpr auto longestBackoff = 30s;
constexpr auto betweenLooks = 50ms;
constexpr auto livedLong = 10s;         // the next one is started at once
constexpr auto timeToProveItself = 5s;  // until then a worker that has only greeted counts as away
constexpr auto timeToLeave = 5s;        // from "stop" to the end
constexpr auto timeToHear = 500ms;      // a service manager tells all of its processes, one after the other
/// Beyond that a worker that does not read is given nothing more.
constexpr std::size_t mostUnsent = 16U << 20U;
/// Beyond that it is ended: only answers to what it says itself can come to so much.
constexpr std::size_t farTooMuch = 64U << 20U;

}  // namespace

/// Threads: its own, and those of the lanes that have a seat.
class WorkerPool::Slot {
 public:
  Slot(const Supervisor& supervisor, const PoolSettings& settings, Tell tell)
      : supervisor_(supervisor),
        settings_(settings),
        tell_(std::move(tell)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this](const std::stop_token& stop) { mind(stop); }) {}
  void stop() {
    thread_.request_stop();
    wake();
  }

  Result<void> isReady(BootTime until, const std::stop_token& stop);
  Result<void> hasStarted();

  // Called by the seats, on the threads of their lanes.
  void attend(Seat& seat, const Term& term);
  void leave(Seat& seat) noexcept;
  std::size_t ahead(const Seat& seat);
  std::optional<BootTime> awaySince();
  void give(Seat& seat, const Given& given);
  static bool hasLoss(const Seat& seat) noexcept;
  void tell(Seat& seat, Giving ticket, const StateValues& values);
  std::vector<Reply> await(Seat& seat, BootTime until, const std::stop_token& stop);
  void cut(Seat& seat);

 private:
  struct InHand {
    std::int64_t number = 0;
    Seat* seat = nullptr;  // nullptr: its lane has left
    Giving ticket;
    MessageId id;
    std::optional<Frame> unsent{};  // the message waits until the worker takes one more
    BootTime since{};               // from when on its limit counts, while it is the first in hand
    bool needs = false;
    bool isExcused = false;  // another message has overrun its limit
  };

  void mind(const std::stop_token& stop);
  void begin(const Hello& hello);
  void serve(WorkerProcess& process, const std::stop_token& stop);
  Result<void> converse(WorkerProcess& process);
  Result<void> hear(WorkerProcess& process, Frame frame);
  Result<void> hear(WorkerProcess& process, SaysAnswer& said);
  Result<void> hear(WorkerProcess& process, SaysNeed& said);
  Result<void> hear(WorkerProcess& process, SaysProgress& said);
  Result<void> hear(WorkerProcess& process, SaysBye& said);
  Result<void> refuse(WorkerProcess& process, std::deque<InHand>::iterator message, const std::string& why);
  void answered(std::deque<InHand>::iterator message, Answer answer);
  Frame unsayable(InHand& message);
  void handOver(std::deque<Frame>& frames);
  std::optional<Error> overrun();
  void end(WorkerProcess& process, const Error& why, BootTime leaveBy);
  bool isStopping();
  bool isLeaving();
  void rest(Duration wait, const std::stop_token& stop);
  void tellEvent(EventBody event);
  BootTime until();
  void wake() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_.get(), &one, sizeof(one)));
  }
  static Error doesNotHave(std::int64_t number) {
    return {Errc::unavailable,
            "the worker does not speak as it should: a frame of a message that it does not have, number " +
                std::to_string(number)};
  }

  const Supervisor& supervisor_;
  const PoolSettings& settings_;
  const Tell tell_;
  const Descriptor wake_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  // Under the mutex:
  std::optional<Hello> hello_;  // of the process, once it has greeted
  std::optional<Error> trouble_;
  std::optional<BootTime> awaySince_ = BootClock::now();
  std::vector<Seat*> seats_;  // under a term
  std::deque<InHand> inHand_;
  std::deque<Frame> toSend_;
  std::size_t unsent_ = 0;
  std::int64_t next_ = 0;
  std::size_t lost_ = 0;
  bool isCut_ = false;
  bool isKilled_ = false;   // with its term
  bool isEnding_ = false;   // the process has ended, and its messages are not given up yet
  bool isLeaving_ = false;  // the process has said bye
  bool hasAnswered_ = false;
  BootTime greetedAt_{};
  /// So many were in hand together when their process died: as many are handed over one at a time.
  std::size_t toComeAlone_ = 0;

  std::jthread thread_;
};

class WorkerPool::Seat final : public IAnswerer {
 public:
  explicit Seat(Slot& slot) : slot_(slot) {}
  ~Seat() override { slot_.leave(*this); }

  void attend(const Term& term) override { slot_.attend(*this, term); }
  void leave() noexcept override { slot_.leave(*this); }
  bool answersInOrder() const noexcept override { return true; }
  std::size_t ahead() override { return slot_.ahead(*this); }
  std::optional<BootTime> awaySince() override { return slot_.awaySince(); }
  void give(const Given& given) override { slot_.give(*this, given); }
  void tell(Giving ticket, const StateValues& values) override { slot_.tell(*this, ticket, values); }
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override {
    return slot_.await(*this, until, stop);
  }
  void cut() override { slot_.cut(*this); }

 private:
  friend class Slot;
  Slot& slot_;
  // Under the slot's mutex:
  std::optional<Term> term_;
  std::vector<Reply> inbox_;
};

// --- for lanes

Result<void> WorkerPool::Slot::isReady(BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!hello_) {
    if (trouble_ && trouble_->is(Errc::configurationRefused)) return *trouble_;
    const auto left = until - BootClock::now();
    if (left <= Duration::zero() || stop.stop_requested()) break;
    changed_.wait_for(lock, stop, std::min<Duration>(left, 100ms), [&] { return hello_.has_value(); });
  }
  if (hello_) return {};
  return trouble_ ? Error{Errc::unavailable, trouble_->detail}
                  : Error{Errc::unavailable, "the worker has not said hello yet"};
}

Result<void> WorkerPool::Slot::hasStarted() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return hello_ || trouble_; });
  return hello_ ? Result<void>{} : *trouble_;
}

void WorkerPool::Slot::attend(Seat& seat, const Term& term) {
  leave(seat);
  const std::lock_guard lock(mutex_);
  seat.term_ = term;
  seats_.push_back(&seat);
}

/// The process is killed if it has a message of this lane in hand.
void WorkerPool::Slot::leave(Seat& seat) noexcept {
  const std::lock_guard lock(mutex_);
  for (InHand& each : inHand_) {
    if (each.seat != &seat) continue;
    each.seat = nullptr;
    isKilled_ = true;
  }
  std::erase(seats_, &seat);
  seat.term_.reset();
  seat.inbox_.clear();
  if (isKilled_) wake();
}

std::size_t WorkerPool::Slot::ahead(const Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (!hello_ || isCut_ || isKilled_ || isLeaving_ || unsent_ > mostUnsent) return 0;
  const auto own = static_cast<std::size_t>(std::ranges::count(inHand_, &seat, &InHand::seat));
  if (toComeAlone_ > 0) return own + (inHand_.empty() ? 1 : 0);
  return own + (hello_->ahead - std::min(hello_->ahead, inHand_.size()));
}

std::optional<BootTime> WorkerPool::Slot::awaySince() {
  const std::lock_guard lock(mutex_);
  const bool isThere = hello_ && (hasAnswered_ || BootClock::now() - greetedAt_ > timeToProveItself);
  return isThere ? std::nullopt : awaySince_;
}

void WorkerPool::Slot::give(Seat& seat, const Given& given) {
  const std::lock_guard lock(mutex_);
  if (hasLoss(seat)) return;  // which is of this message too
  if (!hello_ && !isEnding_) {
    seat.inbox_.push_back(GivenLost{"the worker has ended", false});
    return;
  }
  InHand& made = inHand_.emplace_back(InHand{++next_, &seat, given.ticket, given.message->id});
  Handed handed{.number = made.number,
                .message = *given.message,
                .attempt = given.attempt,
                .token = seat.term_ ? seat.term_->token().value : 1};
  if (settings_.limit) handed.deadline = systemClock().wallNow() + *settings_.limit;
  made.unsent = frameOf(handed);
  wake();
}

bool WorkerPool::Slot::hasLoss(const Seat& seat) noexcept {
  return std::ranges::any_of(seat.inbox_, [](const Reply& one) { return std::holds_alternative<GivenLost>(one); });
}

void WorkerPool::Slot::tell(Seat& seat, Giving ticket, const StateValues& values) {
  const std::lock_guard lock(mutex_);
  for (InHand& each : inHand_) {
    if (each.seat != &seat || each.ticket != ticket || !std::exchange(each.needs, false)) continue;
    each.since = BootClock::now();
    toSend_.push_back(stateFrame(each.number, values));
    if (!bytesOf(toSend_.back())) toSend_.back() = unsayable(each);
    wake();
    return;
  }
}

/// The state is larger than a frame may be: that is the message's failed attempt.
Frame WorkerPool::Slot::unsayable(InHand& message) {
  const std::string why = "its state is larger than a frame may be: at most " + std::to_string(largestFrame) + " bytes";
  const std::int64_t number = message.number;
  answered(std::ranges::find(inHand_, number, &InHand::number), {.outcome = Outcome::failed(why)});
  return refusedFrame(number, why);
}

std::vector<Reply> WorkerPool::Slot::await(Seat& seat, BootTime until, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto left = until - BootClock::now();
  if (seat.inbox_.empty() && left > Duration::zero())
    changed_.wait_for(lock, stop, left, [&] { return !seat.inbox_.empty(); });
  return std::exchange(seat.inbox_, {});
}

void WorkerPool::Slot::cut(Seat& seat) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::count(inHand_, &seat, &InHand::seat) == 0) return;
  isCut_ = true;
  wake();
}

// --- its thread

BootTime WorkerPool::Slot::until() {
  const std::lock_guard lock(mutex_);
  BootTime until = isKilled_ ? BootTime::min() : BootTime::max();
  for (const Seat* seat : seats_) until = std::min(until, killDeadlineOf(*seat->term_));
  return until;
}

void WorkerPool::Slot::rest(Duration wait, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, wait, [] { return false; });
}

void WorkerPool::Slot::tellEvent(EventBody event) {
  FencingToken token;
  {
    const std::lock_guard lock(mutex_);
    if (!seats_.empty()) token = seats_.front()->term_->token();
  }
  tell_(std::move(event), token);
}

void WorkerPool::Slot::mind(const std::stop_token& stop) {
  const SignalsBlocked whileItRuns;
  Backoff backoff(firstBackoff, longestBackoff, Random{freshSeed()});
  while (!stop.stop_requested()) {
    const BootTime began = BootClock::now();
    const auto process = WorkerProcess::start(
        supervisor_, settings_.worker,
        {.until = [this] { return until(); }, .said = [this](EventBody said) { tellEvent(std::move(said)); }}, stop);
    if (!process) {
      const std::lock_guard lock(mutex_);
      isKilled_ = false;
      trouble_ = process.error();
      changed_.notify_all();
    } else {
      begin((*process)->hello());
      serve(**process, stop);
    }
    if (stop.stop_requested()) return;
    if (BootClock::now() - began >= livedLong) backoff.reset();
    const std::chrono::milliseconds wait = backoff.next();
    Error why;
    std::size_t lost = 0;
    {
      const std::lock_guard lock(mutex_);
      why = trouble_.value_or(Error{Errc::unavailable});
      lost = std::exchange(lost_, 0);
    }
    tellEvent(WorkerLost{why.detail, lost, wait});
    rest(wait, stop);
  }
}

void WorkerPool::Slot::begin(const Hello& hello) {
  {
    const std::lock_guard lock(mutex_);
    hello_ = hello;
    trouble_.reset();
    greetedAt_ = BootClock::now();
    isCut_ = isKilled_ = isLeaving_ = hasAnswered_ = false;
    toSend_.clear();
  }
  tellEvent(WorkerReady{hello.language, hello.ahead});
  changed_.notify_all();
}

/// Until it ends.
void WorkerPool::Slot::serve(WorkerProcess& process, const std::stop_token& stop) {
  std::optional<Error> over;
  bool isAskedToLeave = false;
  BootTime leaveBy = BootTime::max();
  while (!over) {
    if (stop.stop_requested() && !std::exchange(isAskedToLeave, true)) {
      leaveBy = BootClock::now() + timeToLeave;
      static_cast<void>(process.send(stopFrame()));
    }
    if (leaveBy == BootTime::max() && isLeaving()) leaveBy = BootClock::now() + timeToLeave;
    if (BootClock::now() >= leaveBy) over = Error{Errc::unavailable, "the worker did not end when it was asked to"};
    if (const Result<void> exchanged = converse(process); !exchanged) over = exchanged.error();
    if (auto late = overrun()) over = *late;
  }
  end(process, *over, leaveBy);
}

bool WorkerPool::Slot::isLeaving() {
  const std::lock_guard lock(mutex_);
  return isLeaving_;
}

/// Messages that wait, as many as the worker takes. Under the mutex.
void WorkerPool::Slot::handOver(std::deque<Frame>& frames) {
  auto sent = static_cast<std::size_t>(std::ranges::count_if(inHand_, [](const InHand& one) { return !one.unsent; }));
  const std::size_t most = !hello_ || isLeaving_ ? 0 : toComeAlone_ > 0 ? 1 : hello_->ahead;
  for (InHand& each : inHand_) {
    if (sent >= most) return;
    if (!each.unsent) continue;
    frames.push_back(*std::exchange(each.unsent, std::nullopt));
    each.since = BootClock::now();
    ++sent;
  }
}

/// Hands over what waits for that, and hears what has come.
Result<void> WorkerPool::Slot::converse(WorkerProcess& process) {
  std::deque<Frame> frames;
  bool isCut = false;
  {
    const std::lock_guard lock(mutex_);
    frames.swap(toSend_);
    handOver(frames);
    isCut = isCut_;
    if (isKilled_) return Error{Errc::unavailable, "the worker was ended with its term"};
  }
  if (isCut) process.cut();
  for (const Frame& frame : frames)
    if (const Result<void> sent = process.send(frame); !sent) return sent;
  const Result<void> exchanged = process.exchange(wake_.get(), BootClock::now() + betweenLooks);
  std::uint64_t count = 0;
  static_cast<void>(!::read(wake_.get(), &count, sizeof(count)));
  for (;;) {  // also after the process has ended: an answer that it sent before counts
    Result<std::optional<Frame>> frame = process.next();
    if (!frame) return frame.error();
    if (!*frame) break;
    if (const Result<void> heard = hear(process, **std::move(frame)); !heard) return heard;
  }
  if (process.unsent() > farTooMuch) return Error{Errc::unavailable, "the worker does not read what it is told"};
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    unsent_ = process.unsent();
    if (!inHand_.empty()) message = escaped(inHand_.front().id.value);
  }
  if (!message.empty()) process.turnTo(message);
  return exchanged;
}

Result<void> WorkerPool::Slot::hear(WorkerProcess& process, Frame frame) {
  Result<Said> said = saidIn(std::move(frame));
  if (!said) return Error{Errc::unavailable, "the worker does not speak as it should: " + said.error().detail};
  return std::visit([&](auto& what) { return hear(process, what); }, *said);
}

Result<void> WorkerPool::Slot::hear(WorkerProcess& process, SaysAnswer& said) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(inHand_, said.number, &InHand::number);
  if (found == inHand_.end() || found->unsent) return doesNotHave(said.number);
  hasAnswered_ = true;
  Result<Answer> answer = answerIn(said.frame, found->id);
  if (!answer) return refuse(process, found, answer.error().detail);
  answered(found, *std::move(answer));
  return process.send(acceptedFrame(said.number));
}

Result<void> WorkerPool::Slot::refuse(WorkerProcess& process, std::deque<InHand>::iterator message,
                                      const std::string& why) {
  const std::int64_t number = message->number;
  answered(message, {.outcome = Outcome::failed(why)});
  return process.send(refusedFrame(number, why));
}

void WorkerPool::Slot::answered(std::deque<InHand>::iterator message, Answer answer) {
  if (message->seat != nullptr) message->seat->inbox_.emplace_back(Answered{message->ticket, std::move(answer)});
  const bool wasFirst = message == inHand_.begin();
  if (toComeAlone_ > 0) --toComeAlone_;
  inHand_.erase(message);
  if (wasFirst && !inHand_.empty()) inHand_.front().since = BootClock::now();
  changed_.notify_all();
}

Result<void> WorkerPool::Slot::hear(WorkerProcess& process, SaysNeed& said) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(inHand_, said.number, &InHand::number);
  if (found == inHand_.end() || found->unsent) return doesNotHave(said.number);
  if (std::exchange(found->needs, true))
    return Error{Errc::unavailable, "the worker does not speak as it should: it asks for more state of message " +
                                        std::to_string(said.number) + " before it was told the first"};
  if (const auto bad = std::ranges::find_if_not(said.keys, isStateKey); bad != said.keys.end())
    return refuse(process, found, "a key of the state is not 1 to 255 bytes: \"" + escaped(*bad, 60) + "\"");
  if (found->seat != nullptr) found->seat->inbox_.emplace_back(StateNeeded{found->ticket, std::move(said.keys)});
  changed_.notify_all();
  return {};
}

Result<void> WorkerPool::Slot::hear(WorkerProcess& process, SaysProgress& said) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(inHand_, said.number, &InHand::number);
  if (found == inHand_.end()) return {};  // another thread of the worker has answered the message meanwhile
  found->since = BootClock::now();
  return process.send(notedFrame(said.number));
}

/// A worker that leaves has begun none of the messages that it does not answer.
Result<void> WorkerPool::Slot::hear(WorkerProcess&, SaysBye&) {
  const std::lock_guard lock(mutex_);
  isLeaving_ = true;
  awaySince_ = BootClock::now();
  hello_.reset();  // its replica is not ready until the next one is
  isEnding_ = true;
  return {};
}

/// A worker handles the messages in its hand one after the other: the limit counts for the first. A worker that has
/// said bye handles none of them.
std::optional<Error> WorkerPool::Slot::overrun() {
  const std::lock_guard lock(mutex_);
  if (!settings_.limit || inHand_.empty() || isLeaving_) return std::nullopt;
  const InHand late = inHand_.front();
  // While the worker waits for its state, the time is ours.
  if (late.unsent || late.needs || BootClock::now() - late.since < *settings_.limit) return std::nullopt;
  if (toComeAlone_ > 0) --toComeAlone_;
  const Error why{Errc::unavailable, "killed: it overran the limit for one message"};
  inHand_.pop_front();
  ++lost_;
  if (late.seat != nullptr) late.seat->inbox_.emplace_back(Answered{late.ticket, {Outcome::failed(why.detail)}});
  for (InHand& other : inHand_) other.isExcused = true;
  return why;
}

/// Gives up the messages in hand once the process has ended: no message is given to another process while this one may
/// still run.
void WorkerPool::Slot::end(WorkerProcess& process, const Error& why, BootTime leaveBy) {
  {
    const std::lock_guard lock(mutex_);
    isEnding_ = true;
    hello_.reset();
    awaySince_ = BootClock::now();
    trouble_ = why;
    toSend_.clear();
    unsent_ = 0;
  }
  if (isLeaving()) process.partWith(std::min(leaveBy, BootClock::now() + timeToLeave));
  const bool wasGone = !process.how().empty();
  process.kill();
  const std::optional<ChildEnd> ended = process.awaitEnd(BootTime::max());
  const int code = ended ? shellCodeOf(*ended) : 0;  // a worker may stand below a shell
  const bool isOfAStop = wasGone && (code == 128 + SIGTERM || code == 128 + SIGINT) && isStopping();
  const std::lock_guard lock(mutex_);
  const auto had =
      static_cast<std::size_t>(std::ranges::count_if(inHand_, [](const auto& one) { return !one.unsent; }));
  lost_ += had;
  const bool charges = !isCut_ && !isKilled_ && !isLeaving_ && !isOfAStop && had > 0;
  const bool wasAlone = had == 1;
  if (charges && wasAlone && toComeAlone_ > 0) --toComeAlone_;
  if (charges && !wasAlone) toComeAlone_ = had;
  for (const InHand& each : inHand_) {
    if (each.seat == nullptr) continue;
    auto& inbox = each.seat->inbox_;
    const bool isTold = !inbox.empty() && std::holds_alternative<GivenLost>(inbox.back());
    if (!isTold) inbox.emplace_back(GivenLost{why.detail, charges && !each.isExcused, !wasAlone});
  }
  inHand_.clear();
  toSend_.clear();
  isEnding_ = false;
  isKilled_ = false;
  changed_.notify_all();
}

/// A service manager tells its processes to stop one after the other: the worker may be told first.
bool WorkerPool::Slot::isStopping() {
  std::unique_lock lock(mutex_);
  const BootTime until = BootClock::now() + timeToHear;
  const auto isAsked = [&] {
    return std::ranges::any_of(seats_, [](const Seat* seat) { return seat->term_->stopToken().stop_requested(); });
  };
  while (!isAsked() && BootClock::now() < until) changed_.wait_for(lock, 10ms);
  return isAsked();
}

// --- the pool

WorkerPool::WorkerPool(const Supervisor& supervisor, PoolSettings settings, Tell tell)
    : settings_(std::move(settings)) {
  for (std::size_t i = 0; i < settings_.processes; ++i)
    slots_.push_back(std::make_unique<Slot>(supervisor, settings_, tell));
}

WorkerPool::~WorkerPool() {
  for (const auto& slot : slots_) slot->stop();
}

Result<void> WorkerPool::areReady(BootTime until, const std::stop_token& stop) {
  for (const auto& slot : slots_)
    if (const Result<void> ready = slot->isReady(until, stop); !ready) return ready;
  return {};
}

Result<void> WorkerPool::hasStarted() {
  for (const auto& slot : slots_)
    if (const Result<void> started = slot->hasStarted(); !started) return started;
  return {};
}

std::unique_ptr<IAnswerer> WorkerPool::seatFor(std::size_t lane) {
  return std::make_unique<Seat>(*slots_[lane == 0 ? 0 : (lane - 1) % slots_.size()]);
}

}  // namespace tenure::cli::worker
