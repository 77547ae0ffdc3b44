#include <algorithm>
#include <memory>

#include "base/backoff.hpp"
#include "base/threads.hpp"
#include "consumer/work.hpp"
#include "lease/term_state.hpp"
#include "messages/headers.hpp"
#include "messages/message_numbers.hpp"
#include "relay/gated_source.hpp"
#include "relay/publications.hpp"
#include "relay/target.hpp"
#include "tenure/consumer.hpp"

namespace tenure::relaying {

// A relay's work, as a career.

/// As consuming::workOf.
std::unique_ptr<ILeaderCareer> workOf(IMessageSource& source, IFencedStore& store, Relay::OpenSink open,
                                      const ConsumerOptions& options, IEventSink& events, const IClock& clock,
                                      IThreads& threads);

}  // namespace tenure::relaying

namespace tenure {
namespace relaying {
namespace {

using namespace std::chrono_literals;

/// So long a handler waits for a target that is away. Then its messages go back to their places, which costs a commit,
/// so that the lane can see that the store is away as well.
constexpr Duration patience = 5s;

constexpr std::chrono::milliseconds skipAgain{1'000};

using messages::isSkip;

/// A skip has the exchange and routing key of its dead message. If the target refuses the skip for them, it is
/// published as a message without these headers is.
Message withoutItsWay(Message skip) {
  std::erase_if(skip.headers, [](const auto& header) {
    return header.first == exchangeHeader || header.first == routingKeyHeader || header.first == mandatoryHeader;
  });
  return skip;
}

class Publishing {
 public:
  Publishing(Target& target, Publications& publications, const IClock& clock)
      : target_(target), publications_(publications), clock_(clock) {}

  Outcome handle(const BatchDelivery& batch) {
    const std::vector<std::optional<Result<void>>> known = publications_.take(batch.messages);
    std::vector<Message> some;
    const bool isFresh = std::ranges::none_of(known, [](const auto& result) { return result.has_value(); });
    for (std::size_t i = 0; !isFresh && i < known.size(); ++i)
      if (!known[i]) some.push_back(batch.messages[i]);
    const std::span<const Message> fresh = isFresh ? batch.messages : std::span<const Message>(some);
    const std::vector<Result<void>> published = publish(fresh, batch.term);
    if (batch.messages.size() == 1) return outcomeOfOne(batch, known.front() ? *known.front() : published.front());
    publications_.remember(fresh, published);
    for (std::size_t i = 0, next = 0; i < known.size(); ++i) {
      const Result<void>& result = known[i] ? *known[i] : published[next++];
      if (!result) return Outcome::failed(result.error().message());
    }
    return Outcome::done();
  }

 private:
  /// Of a message that is alone; that it was refused is its attempt, and not remembered.
  Outcome outcomeOfOne(const BatchDelivery& batch, Result<void> result) {
    const Message& message = batch.messages.front();
    const Answer answer = answerOf(result);
    const bool isRefused = answer == Answer::refused || answer == Answer::hopeless;
    if (isRefused && isSkip(message)) result = publish(std::vector{withoutItsWay(message)}, batch.term).front();
    if (result) publications_.remember(batch.messages, std::vector{result});
    // A skip never becomes a dead letter: consumers that follow numbers wait for it.
    if (!result && isSkip(message)) return Outcome::retryLater(result.error().message(), skipAgain);
    return outcomeOf(result);
  }

  std::vector<Result<void>> publish(std::span<const Message> messages, const Term& term) {
    if (messages.empty()) return {};
    std::vector<NewMessage> toSend(messages.begin(), messages.end());
    std::vector<std::size_t> places(messages.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::vector<Result<void>> results(messages.size(), Error{Errc::unavailable, "the term is over"});
    Backoff backoff(20ms, 500ms, Random(static_cast<std::uint64_t>(clock_.now().time_since_epoch().count())));
    const BootTime giveUp = clock_.now() + patience;
    while (!toSend.empty() && mayFinishWork(term)) {
      send(toSend, places, results, term);
      if (toSend.empty() || term.stopToken().stop_requested() || clock_.now() >= giveUp) break;
      clock_.waitUntil(clock_.now() + backoff.next(), term.stopToken());
    }
    return results;
  }

  /// Messages stay in `toSend` if the target was away for them, from the first of these on.
  void send(std::vector<NewMessage>& toSend, std::vector<std::size_t>& places, std::vector<Result<void>>& results,
            const Term& term) {
    const std::vector<Result<void>> answers = target_.append(toSend, term);
    std::vector<NewMessage> left;
    std::vector<std::size_t> leftPlaces;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      results[places[i]] = answers[i];
      if (answerOf(answers[i]) != Answer::away) continue;
      left.push_back(std::move(toSend[i]));
      leftPlaces.push_back(places[i]);
    }
    toSend = std::move(left);
    places = std::move(leftPlaces);
  }

  Target& target_;
  Publications& publications_;
  const IClock& clock_;
};

/// The queue's own consumer, whose handler publishes.
class Career final : public ILeaderCareer {
 public:
  Career(IMessageSource& source, IFencedStore& store, Relay::OpenSink open, ConsumerOptions options, IEventSink& events,
         const IClock& clock, IThreads& threads)
      : target_(std::move(open), events, clock),
        publishing_(target_, publications_, clock),
        gated_(source, target_, clock) {
    options.delivery = Guarantee::atLeastOnce;
    options.prepare = [this, before = options.prepare](const std::stop_token& stop) {
      if (before) before(stop);
      if (const Result<void> ready = target_.prepare(); !ready) throw EndTerm(EndReason::failed, ready.error());
    };
    const BatchHandler many = [this](const BatchDelivery& batch) { return publishing_.handle(batch); };
    const Handler one = [this](const Delivery& delivery) {
      return publishing_.handle({{&delivery.message, 1}, delivery.transaction, delivery.term, delivery.attempt});
    };
    consumer_ = consuming::workOf(gated_, store, {.one = one, .many = many, .takeSkips = true}, options, events, clock,
                                  threads);
  }

  /// A replica far behind in line keeps no connection open.
  void check(const std::stop_token& stop) override {
    consumer_->check(stop);
    target_.close();
  }
  void prepare(const std::stop_token& stop) override { consumer_->prepare(stop); }
  void confirm(const std::stop_token& stop) override { consumer_->confirm(stop); }
  void inaugurate(const Term& term) override {
    publications_.clear();
    consumer_->inaugurate(term);
  }
  bool execute(const Term& term) override { return consumer_->execute(term); }
  void rest(const Term& term) override { consumer_->rest(term); }
  void handOver(const Term& term) override {
    consumer_->handOver(term);
    target_.close();
  }

 private:
  Target target_;
  Publications publications_;
  Publishing publishing_;
  GatedSource gated_;
  std::unique_ptr<ILeaderCareer> consumer_;
};

}  // namespace

std::unique_ptr<ILeaderCareer> workOf(IMessageSource& source, IFencedStore& store, Relay::OpenSink open,
                                      const ConsumerOptions& options, IEventSink& events, const IClock& clock,
                                      IThreads& threads) {
  return std::make_unique<Career>(source, store, std::move(open), options, events, clock, threads);
}

}  // namespace relaying

Relay::Relay(IMessageSource& source, IFencedStore& store, OpenSink open, const ConsumerOptions& options,
             IEventSink& events, const IClock& clock)
    : WorkCareer(relaying::workOf(source, store, std::move(open), options, events, clock, systemThreads())) {}

}  // namespace tenure
