#include "webhook/caller.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "messages/headers.hpp"

namespace tenure::webhook {

namespace {

using namespace std::chrono_literals;

/// A lane goes on without the answer to a call that takes longer. A leader that was asked to leave waits less.
constexpr Duration longestHold = 5s;
constexpr Duration longestFarewell = 1s;
/// Between two looks at a call that was left: a quarter of its age, and no less.
constexpr std::chrono::milliseconds leastWait = 100ms;
/// How often the lease is looked at while nothing has ended.
constexpr Duration leaseLook = 50ms;

std::optional<std::int64_t> numberOf(const Message& message) {
  const std::string* text = headerOf(message, numberHeader);
  return text == nullptr || message.group.value.empty() ? std::nullopt : parseInteger(*text);
}

/// Since the first call of the message that was not counted.
std::optional<std::chrono::milliseconds> waitOf(const Given& given) {
  if (!given.putOffSince) return std::nullopt;
  const WallTime now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return std::max(now - *given.putOffSince, std::chrono::milliseconds{0});
}

class Caller final : public IAnswerer {
 public:
  using Tell = std::function<void(EventBody, FencingToken)>;

  Caller(const Setup& setup, Calls& calls, std::size_t lane, Tell tell)
      : setup_(setup), calls_(calls), ahead_(lane > 0 ? setup.options.ahead : 1), tell_(std::move(tell)) {}
  ~Caller() override { drop(); }

  void attend(const Term& term) override {
    leave();
    hurriedAt_.reset();
    term_.emplace(term);
  }
  void leave() noexcept override {
    drop();
    replies_.clear();
  }
  std::size_t ahead() override { return ahead_; }
  std::optional<BootTime> awaySince() override { return std::nullopt; }
  bool answersInOrder() const noexcept override { return false; }
  void give(const Given& given) override;
  void tell(Giving, const StateValues&) override {}
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override;
  void hurry() override {
    if (!hurriedAt_) hurriedAt_ = BootClock::now();
  }
  void cut() override { lose("cut, as its leader was asked to leave"); }

 private:
  struct InHand {
    Given given;
    Calls::EntryPtr call;
    BootTime since = BootClock::now();
    bool wasLeft = false;
  };

  void begin(const Given& given);
  void end(const InHand& of);
  void leaveLongOnes(BootTime now);
  void answer(const Given& given, Outcome outcome) {
    replies_.emplace_back(Answered{given.ticket, {std::move(outcome)}});
  }
  void lose(const std::string& why);
  void drop() noexcept;

  const Setup& setup_;
  Calls& calls_;
  const std::size_t ahead_;
  const Tell tell_;
  Calls::Inbox inbox_;
  std::optional<Term> term_;
  std::optional<BootTime> hurriedAt_;
  std::map<Giving, InHand> inHand_;
  std::vector<Reply> replies_;
};

void Caller::give(const Given& given) {
  if (Calls::EntryPtr left = calls_.claim(*term_, given, inbox_))
    inHand_.emplace(given.ticket, InHand{.given = given, .call = std::move(left), .wasLeft = true});
  else
    begin(given);
}

void Caller::begin(const Given& given) {
  const Message& message = *given.message;
  const Result<TargetPtr> target = setup_.targetOf(message);
  if (!target) return answer(given, Outcome::reject(target.error().detail));
  auto secrets = setup_.secretsOf(**target);
  if (!secrets) return answer(given, Outcome::failed(secrets.error().detail));
  const auto waits = waitOf(given);
  const bool isPatient = !waits || *waits < setup_.options.outage;
  const Breaker::Word word = setup_.breaker.ask((*target)->origin, BootClock::now());
  if (word.wait && isPatient)
    return answer(given, Outcome::retryLater("its host cannot be reached, and is not called until it can",
                                             std::chrono::ceil<std::chrono::milliseconds>(*word.wait)));
  const bool hasOwnGroup = message.group != (*target)->group;
  Order order{term_->identity().election.value, hasOwnGroup ? message.group.value : "", term_->token().value,
              numberOf(message)};
  auto entry = std::make_shared<Calls::Entry>(
      *term_, given.attempt, word.isProbe,
      std::make_unique<Call>(setup_, calls_.handles(),
                             Call::Request{given.message, *target, *std::move(secrets), std::move(order)}));
  inHand_.emplace(given.ticket, InHand{.given = given, .call = entry});
  calls_.begin(entry, inbox_);
}

std::vector<Reply> Caller::await(BootTime until, const std::stop_token& stop) {
  for (;;) {
    const BootTime now = BootClock::now();
    const bool waits = replies_.empty() && now < until && !stop.stop_requested();
    bool areCut = false;
    for (const Calls::EntryPtr& ended : calls_.await(inbox_, waits ? std::min(until, now + leaseLook) : now, stop)) {
      const auto of = std::ranges::find(inHand_, ended, [](const auto& each) { return each.second.call; });
      areCut = areCut || ended->response->end == Response::End::cut;
      end(of->second);
      inHand_.erase(of);
    }
    if (areCut || (!term_->valid() && !inHand_.empty())) lose("cut, as its leader's lease is over");
    leaveLongOnes(BootClock::now());
    if (!replies_.empty() || stop.stop_requested() || BootClock::now() >= until) return std::exchange(replies_, {});
  }
}

void Caller::end(const InHand& of) {
  const Response& response = *of.call->response;
  if (response.end == Response::End::cut) return;
  if (isGone(response) && tell_)
    tell_(WebhookGone{escaped(of.given.message->id.value), of.call->call->request().target->endpoint.address()},
          term_->token());
  answer(of.given, judge(response, waitOf(of.given), setup_.patience()));
}

/// A message that has its only start keeps its lane until its call has ended.
void Caller::leaveLongOnes(BootTime now) {
  std::erase_if(inHand_, [&](const auto& each) {
    const InHand& of = each.second;
    const bool isLong =
        of.wasLeft || now - of.since >= longestHold || (hurriedAt_ && now - *hurriedAt_ >= longestFarewell);
    if (of.given.isOnlyStart || (!isLong && !hurriedAt_)) return false;
    const auto began = calls_.began(of.call);
    if (!began && hurriedAt_) {
      calls_.cut(of.call);
      answer(of.given, Outcome::retryLater("its call has not begun, as its leader leaves", leastWait));
      return true;
    }
    if (!began || !isLong) return false;
    const Duration age = now - *began;
    const Duration wait = std::min<Duration>(age / 4, setup_.options.timeout - age + leastWait);
    calls_.leave(of.call);
    answer(of.given,
           Outcome::retryLater("its call goes on, and has no answer yet",
                               std::chrono::ceil<std::chrono::milliseconds>(std::max<Duration>(wait, leastWait))));
    return true;
  });
}

/// Answers that have come are kept.
void Caller::lose(const std::string& why) {
  drop();
  replies_.emplace_back(GivenLost{.why = why, .charges = false});
}

void Caller::drop() noexcept {
  if (term_) calls_.cutLeft(*term_);
  for (const auto& [ticket, of] : inHand_) calls_.cut(of.call);
  inHand_.clear();
}

}  // namespace

std::unique_ptr<IAnswerer> makeCaller(const Setup& setup, Calls& calls, std::size_t lane,
                                      std::function<void(EventBody, FencingToken)> tell) {
  return std::make_unique<Caller>(setup, calls, lane, std::move(tell));
}

Response callOnce(const Setup& setup, const Message& message) {
  const auto broken = [](const Error& why) { return Response{.end = Response::End::broken, .why = why.detail}; };
  const Result<TargetPtr> target = setup.targetOf(message);
  if (!target) return broken(target.error());
  auto secrets = setup.secretsOf(**target);
  if (!secrets) return broken(secrets.error());
  Handles handles(setup.options);
  const Call call(setup, handles,
                  {.message = std::make_shared<const Message>(message),
                   .target = *target,
                   .secrets = *std::move(secrets),
                   .order = {.election = "by hand", .group = {}, .token = 1}});
  curl_easy_setopt(call.handle(), CURLOPT_TIMEOUT_MS, static_cast<long>(setup.options.timeout.count()));
  return call.ended(curl_easy_perform(call.handle()));
}

}  // namespace tenure::webhook
