#include "tenure/consumer.hpp"

#include <exception>
#include <optional>

#include "base/emit.hpp"
#include "base/validation.hpp"
#include "consumer/consumer_machine.hpp"

namespace tenure {
namespace {

using namespace consuming;
using namespace std::chrono_literals;

const ConsumerOptions& validated(const ConsumerOptions& options) {
  Complaints complaints;
  complaints.require(options.name.value.size() <= 255, "consumer.name", options.name.value, "must be up to 255 bytes");
  complaints.require(options.maxBatch >= 1 && options.maxBatch <= 4096, "consumer.maxBatch",
                     static_cast<std::int64_t>(options.maxBatch), "must be 1 to 4096");
  complaints.require(options.latencyTarget >= 0ms && options.latencyTarget <= 10s, "consumer.latencyTarget",
                     options.latencyTarget, "must be 0 to 10 s: the store's lock is held that long");
  complaints.require(options.maxAttempts >= 1 && options.maxAttempts <= 1000, "consumer.maxAttempts",
                     static_cast<std::int64_t>(options.maxAttempts), "must be 1 to 1000");
  complaints.require(options.retryBase >= 0ms, "consumer.retryBase", options.retryBase, "must not be negative");
  complaints.require(options.retryMax >= options.retryBase, "consumer.retryMax", options.retryMax,
                     "must be at least retryBase");
  complaints.require(options.outageLimit >= 0ms, "consumer.outageLimit", options.outageLimit, "must not be negative");
  complaints.require(options.keepIdsFor >= 0h, "consumer.keepIdsFor", options.keepIdsFor,
                     "must not be negative; 0 keeps them for ever");
  complaints.require(options.idleWait >= 0ms && options.idleWait <= 30s, "consumer.idleWait", options.idleWait,
                     "must be 0 to 30 s, well below the execute limit");
  complaints.throwIfAny();
  return options;
}

ConsumerOptions fitted(ConsumerOptions options, const IFencedStore& store) {
  options.maxBatch = std::min(options.maxBatch, store.maxBatch());
  options.keepIdsFor = store.keepsIdsFor().value_or(options.keepIdsFor);
  return options;
}

}  // namespace

/// Performs what the machine asks for and feeds the results back.
class Consumer::Shell {
 public:
  Shell(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
        IEventSink& events, const IClock& clock)
      : source_(source),
        store_(store),
        shared_(source.sharesTransactionsWith(store)),
        handler_(std::move(handler)),
        options_(fitted(validated(options), store)),
        events_(events),
        clock_(clock),
        random_(options.jitterSeed != 0 ? options.jitterSeed : freshSeed()) {}

  void prepare(const std::stop_token& stop) const {
    store_.prepare();
    if (options_.prepare) options_.prepare(stop);
  }

  void inaugurate(const Term& term) {
    enter(term);
    transaction_.reset();
    machine_.emplace(options_, shared_, random_.fork());
    run(machine_->inaugurate(moment()));
  }

  bool execute(const Term& term) {
    enter(term);
    return run(machine_->execute(moment()));
  }

  void handOver(const Term& term) {
    enter(term);
    abandon();
    if (machine_ && term.valid()) run(machine_->handOver(moment()));
    if (machine_) machine_->lose("its term was lost");
    if (machine_ && machine_->hasNews()) tell();
    abandon();
    source_.detach();
    store_.release();
  }

 private:
  void enter(const Term& term) {
    term_ = &term;
    name_ = options_.name.value.empty() ? ConsumerName{term.identity().election.value} : options_.name;
    stop_ = term.stopToken();
    emit_.emplace(events_, clock_, term.identity().election);
    bootAtEntry_ = clock_.now();
    wallAtEntry_ = clock_.wallNow();
  }

  bool run(Action action) {
    while (true) {
      if (machine_->hasNews()) tell();
      if (const auto* over = std::get_if<Return>(&action)) return over->again;
      action = std::visit([this](const auto& asked) { return perform(asked); }, action);
    }
  }

  Moment moment() const {
    const BootTime now = clock_.now();
    // Reckoned from one reading a phase: records need no more, and each reading costs as much as a map look-up.
    const WallTime wall = wallAtEntry_ + std::chrono::floor<std::chrono::milliseconds>(now - bootAtEntry_);
    return {now, wall, term_->mayBeginWork(), stop_.stop_requested(), transaction_ && transaction_->isFull()};
  }

  void tell() {
    for (EventBody& body : machine_->takeNews()) (*emit_)(std::move(body), term_->token());
  }

  // --- source and waiting

  Action perform(const Attach&) { return did(source_.attach(*term_)); }

  Action perform(const Fetch& fetch) {
    term_->reportProgress();
    Result<std::vector<Message>> messages = source_.fetch(fetch.max, fetch.until, stop_);
    if (!messages) return machine_->failed(messages.error(), moment());
    store_.expect(*messages);
    return machine_->fetched(std::move(*messages), moment());
  }

  Action perform(const Acknowledge& acknowledge) {
    if (!term_->valid()) return machine_->failed(Errc::leaseLost, moment());
    return did(source_.acknowledge(machine_->window().first(acknowledge.settled)));
  }

  Action perform(const Wait& wait) {
    term_->reportProgress();
    clock_.waitUntil(wait.until, stop_);
    return machine_->did(moment());
  }

  Action perform(const Return&) { return Return{false}; }  // run() has seen it

  Action perform(const Quit& quit) {
    abandon();
    throw EndTerm(quit.reason, machine_->trouble());
  }

  // --- store

  Action perform(const Claim&) { return did(store_.claim(*term_)); }

  Action perform(const Recall&) {
    Result<ConsumerState> state = store_.consumerState(name_);
    if (!state) return machine_->failed(state.error(), moment());
    return machine_->recalled(std::move(*state), moment());
  }

  Action perform(const Check&) {
    const Result<std::vector<Admission>> known = store_.known(name_, {&machine_->head(), 1});
    if (!known) return machine_->failed(known.error(), moment());
    return machine_->checked(known->front() != Admission::fresh, moment());
  }

  Action perform(const Prune& prune) {
    term_->reportProgress();
    if (!term_->valid()) return machine_->failed(Errc::leaseLost, moment());
    Pruning step = prune.step;
    step.consumer = name_;
    const Result<Pruned> pruned = store_.prune(*term_, step);
    if (!pruned) return machine_->failed(pruned.error(), moment());
    return machine_->pruned(*pruned, moment());
  }

  Action perform(const Resolve&) {
    const Result<CommitFate> fate = store_.resolve(*term_);
    if (!fate) return machine_->failed(fate.error(), moment());
    return machine_->resolved(*fate, moment());
  }

  Action perform(const Abandon&) {
    abandon();
    return machine_->did(moment());
  }

  Action perform(const Admit& asked) {
    const Message& message = machine_->head();
    Result<void> ready = begin();
    if (ready && asked.mark) ready = transaction_->mark();
    if (!ready) return refused(ready.error());
    const Result<Admission> admission =
        transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::done);
    if (!admission) return refused(admission.error());
    return machine_->admitted(*admission, moment());
  }

  Action perform(const Bury& bury) {
    const Result<void> buried = book(bury);
    return buried ? machine_->did(moment()) : refused(buried.error());
  }

  Action perform(const Commit& commit) {
    term_->reportProgress();
    const Result<void> committed = book(commit);
    if (!committed) return refused(committed.error());
    transaction_.reset();
    return machine_->did(moment());
  }

  Result<void> book(const Bury& bury) {
    const Message& message = machine_->head();
    Result<void> done = begin();
    if (done && bury.undo) done = transaction_->rollbackToMark();
    if (done)
      done = transaction_->deadLetter(name_, {.message = message,
                                              .reason = std::string{bury.reason},
                                              .attempts = bury.attempts,
                                              .firstAt = bury.firstAt,
                                              .diedAt = moment().wall});
    if (!done || !bury.withKey) return done;
    const auto admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::dead);
    return admission ? Result<void>{} : admission.error();
  }

  Result<void> book(const Commit& commit) {
    const auto window = machine_->window();
    Result<void> done = begin();
    if (done && commit.undo) done = transaction_->rollbackToMark();
    if (done && commit.forgive != nullptr) done = transaction_->clearAttempt(name_, *commit.forgive);
    if (done && commit.record != nullptr) done = transaction_->recordAttempt(name_, *commit.record);
    if (done)
      done = transaction_->recordInWork(name_, idsOf(window.subspan(commit.settled, commit.inWork)), commit.more);
    if (done && shared_ && commit.settled > 0) done = source_.acknowledge(*transaction_, window.first(commit.settled));
    // The last look at the lease; whatever passes between here and the store is the fence's to stop.
    if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
    return done ? transaction_->commit() : done;
  }

  std::span<const MessageId> idsOf(std::span<const Message> messages) {
    ids_.resize(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) ids_[i].value = messages[i].id.value;
    return ids_;
  }

  Result<void> begin() {
    if (transaction_) return {};
    Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(*term_);
    if (!begun) return begun.error();
    transaction_ = std::move(*begun);
    return {};
  }

  void abandon() noexcept {
    if (transaction_) transaction_->rollback();
    transaction_.reset();
  }

  /// The store refused: nothing of the transaction may stay.
  Action refused(const Error& error) {
    abandon();
    return machine_->failed(error, moment());
  }

  Action did(const Result<void>& result) {
    return result ? machine_->did(moment()) : machine_->failed(result.error(), moment());
  }

  // --- the handler

  Action perform(const Handle& asked) {
    term_->reportProgress();
    Result<void> ready = begin();
    if (ready && asked.mark) ready = transaction_->mark();
    if (!ready) return refused(ready.error());
    const Outcome outcome = handle({machine_->head(), *transaction_, *term_, asked.attempt});
    // What the store refused is not the message's fault, whatever the handler makes of it.
    if (const Result<void> sound = transaction_->standing(); !sound) return refused(sound.error());
    return machine_->ran(outcome, moment());
  }

  /// The one place that catches what a handler throws.
  Outcome handle(const Delivery& delivery) const {
    try {
      return handler_(delivery);
    } catch (const EndTerm&) {
      throw;  // not the message's fault; handOver undoes what is open
    } catch (const std::exception& thrown) {
      return Outcome::failed(thrown.what());
    } catch (...) {
      return Outcome::failed("the handler threw something that is not a std::exception");
    }
  }

  IMessageSource& source_;
  IFencedStore& store_;
  const bool shared_;
  const Handler handler_;
  const ConsumerOptions options_;
  IEventSink& events_;
  const IClock& clock_;
  Random random_;

  // The term, as of the running phase.
  const Term* term_ = nullptr;
  ConsumerName name_;
  std::stop_token stop_;
  std::optional<Emitter> emit_;
  BootTime bootAtEntry_{};
  WallTime wallAtEntry_{};

  std::optional<ConsumerMachine> machine_;
  std::unique_ptr<IFencedTransaction> transaction_;
  std::vector<MessageId> ids_;  // kept for its capacity
};

Consumer::Consumer(IMessageSource& source, IFencedStore& store, Handler handler, const ConsumerOptions& options,
                   IEventSink& events, const IClock& clock)
    : shell_(std::make_unique<Shell>(source, store, std::move(handler), options, events, clock)) {}
Consumer::~Consumer() = default;

void Consumer::prepare(const std::stop_token& stop) { shell_->prepare(stop); }
void Consumer::inaugurate(const Term& term) { shell_->inaugurate(term); }
bool Consumer::execute(const Term& term) { return shell_->execute(term); }
void Consumer::handOver(const Term& term) { shell_->handOver(term); }

}  // namespace tenure
