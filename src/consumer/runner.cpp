#include "consumer/runner.hpp"

#include <exception>

#include "consumer/charges.hpp"
#include "tenure/rate_limits.hpp"

namespace tenure::consuming {
namespace {

/// The one place that catches what a handler throws.
template <class Callee, class Of>
Outcome called(const Callee& handler, const Of& delivery) {
  try {
    return handler(delivery);
  } catch (const EndTerm&) {
    throw;  // not the message's fault; handOver undoes what is open
  } catch (const std::exception& thrown) {
    return Outcome::failed(thrown.what());
  } catch (...) {
    return Outcome::failed("the handler threw something that is not a std::exception");
  }
}

}  // namespace

Result<void> isReady(IMessageSource& source, IFencedStore& store, const std::stop_token& stop) {
  const Result<void> ready = store.prepare(stop);
  if (!ready || stop.stop_requested() || source.sharesTransactionsWith(store)) return ready;
  return source.prepare(stop);
}

Runner::Runner(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
               IEventSink& events, const IClock& clock, IPost* post)
    : source_(source),
      store_(store),
      shared_(source.sharesTransactionsWith(store)),
      handlers_(std::move(handlers)),
      options_(options),
      events_(events),
      clock_(clock),
      post_(post),
      random_(options.jitterSeed != 0 ? options.jitterSeed : freshSeed()),
      storeTimer_(options.outageLimit, storeWatch_),
      sourceTimer_(options.outageLimit, sourceWatch_) {}

void Runner::check(const std::stop_token& stop) {
  const Result<void> ready = isReady(source_, store_, stop);
  store_.release();
  ready.value();
}

void Runner::prepare(const std::stop_token& stop) {
  isReady(source_, store_, stop).value();
  if (options_.prepare) options_.prepare(stop);
}

void Runner::inaugurate(const Term& term) {
  storeTimer_.reset();
  sourceTimer_.reset();
  machine_.reset();
  enter(term);
  transaction_.reset();
  ConsumerOptions named = options_;
  named.name = name_;
  // At a post each acknowledgement is told: it frees the groups for others.
  machine_.emplace(named, shared_ && post_ == nullptr, random_.fork(), post_ ? post_->role() : Role::alone,
                   handlers_.many != nullptr, post_ ? post_->lists().groups() : nullptr, term.token(),
                   post_ ? post_->notes() : nullptr);
  if (post_ != nullptr && post_->prunes()) machine_->startPruning(clock_.now());
  limitsSeen_.reset();
  run(machine_->inaugurate(moment()));
}

bool Runner::execute(const Term& term) {
  enter(term);
  readLimits();
  return run(machine_->execute(moment()));
}

void Runner::handOver(const Term& term) {
  enter(term);
  abandon();
  if (machine_ && term.valid()) run(machine_->handOver(moment()));
  leave();
}

void Runner::leaveSilently(const Term& term) {
  enter(term);
  abandon();
  leave();
}

void Runner::leave() {
  if (machine_) machine_->lose("its term was lost");
  if (machine_ && machine_->hasNews()) tell();
  abandon();
  source_.detach();
  store_.release();
  source_.limitAnswers(nullptr);
  store_.limitAnswers(nullptr);
  term_ = nullptr;
}

void Runner::enter(const Term& term) {
  term_ = &term;
  name_ = options_.name.value.empty() ? ConsumerName{term.identity().election.value} : options_.name;
  recordName_ = post_ ? post_->recordName(name_) : name_;
  stop_ = post_ ? post_->stopToken() : term.stopToken();
  emit_.emplace(events_, clock_, term.identity().election);
  store_.limitAnswers(&storeTimer_);
  source_.limitAnswers(&sourceTimer_);
  bootAtEntry_ = clock_.now();
  wallAtEntry_ = clock_.wallNow();
}

bool Runner::run(Action action) {
  while (true) {
    if (machine_->hasNews()) tell();
    if (const auto* over = std::get_if<Return>(&action)) return over->again;
    holdTimers();
    action = std::visit([this](const auto& asked) { return perform(asked); }, action);
  }
}

void Runner::reportProgress() const noexcept { post_ ? post_->reportProgress() : term_->reportProgress(); }

/// With lanes the desk keeps to them.
void Runner::readLimits() {
  if (post_ != nullptr || options_.limits == nullptr || limitsSeen_ == options_.limits->version()) return;
  limitsSeen_ = options_.limits->version();  // first: what changes meanwhile is seen next time
  machine_->limit(options_.limits->rules());
}

void Runner::tell() {
  for (EventBody& body : machine_->takeNews()) (*emit_)(std::move(body), term_->token());
}

// --- source and waiting

Action Runner::perform(const Attach&) { return did(source_.attach(*term_)); }

Action Runner::perform(const Fetch& fetch) {
  reportProgress();
  if (post_ != nullptr) {
    releaseWhenFree();
    Result<Assignment> assignment = post_->take(fetch.max, fetch.until);
    if (!assignment) return machine_->failed(assignment.error(), moment());
    foretell(assignment->messages);
    return machine_->assigned(std::move(*assignment), moment());
  }
  Result<std::vector<Message>> messages = source_.fetch(fetch.max, fetch.until, stop_);
  if (!messages) return machine_->failed(messages.error(), moment());
  const std::size_t before = machine_->window().size();
  const Action next = machine_->fetched(std::move(*messages), moment());
  foretell(machine_->window().subspan(before));
  return next;
}

/// Not of a child process: what it does is in no transaction, and nothing but the store's own word may start it.
void Runner::foretell(std::span<const Message> messages) {
  if (!options_.handlerIsExternal) store_.expect(messages);
}

Action Runner::perform(const Acknowledge& acknowledge) {
  if (!term_->valid()) return machine_->failed(Errc::leaseLost, moment());
  const auto messages = machine_->window().first(acknowledge.settled);
  const auto others = machine_->collapsed();
  Result<void> done = post_ ? post_->acknowledge({messages, others, machine_->dropped(), machine_->unbegun()})
                            : source_.acknowledge(messages);
  if (done && !post_ && !others.empty()) done = source_.acknowledge(others);
  if (!done) return machine_->failed(done.error(), moment());
  if (post_ && post_->mustReadAgain()) machine_->attachAgain();
  const Action next = machine_->did(moment());
  releaseWhenFree();
  return next;
}

void Runner::releaseWhenFree() {
  if (post_ != nullptr && machine_->mayRelease()) post_->release(machine_->takeStandings());
}

Action Runner::perform(const Park& park) {
  post_->park(machine_->takeParked(), park.until);
  return machine_->did(moment());
}

Action Runner::perform(const TakeTurn&) {
  const BootTime turn = post_->takeTurn(machine_->head().group);
  return machine_->turned(turn, moment());  // whose clock is read after the desk's
}

Action Runner::perform(const Wait& wait) {
  reportProgress();
  clock_.waitUntil(wait.until, stop_);
  return machine_->did(moment());
}

Action Runner::perform(const Return&) { return Return{false}; }  // run() has seen it

Action Runner::perform(const Quit& quit) {
  hurry(clock_.now() + lastAnswers);
  abandon();
  throw EndTerm(quit.reason, machine_->trouble());
}

// --- store

Action Runner::perform(const Claim&) { return did(store_.claim(*term_)); }

Action Runner::perform(const Recall&) {
  Result<Recollection> left =
      post_ ? post_->recall(name_) : recollect(store_, name_, term_->identity(), reachOf(options_), moment().wall);
  if (!left) return machine_->failed(left.error(), moment());
  return machine_->recalled(*std::move(left), moment());
}

Action Runner::perform(const Declare& declaration) {
  reportProgress();
  abandon();
  Result<void> done = begin();
  if (done) done = declare(*transaction_, name_, declaration.reach);
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  if (done) done = transaction_->commit();
  abandon();
  return did(done);
}

Action Runner::perform(const Inquire&) {
  reportProgress();
  const Result<ConsumerState> found = store_.consumerState(name_);
  return found ? machine_->inquired(*found, moment()) : machine_->failed(found.error(), moment());
}

Action Runner::perform(const Check&) {
  const Result<std::vector<Admission>> known = store_.known(name_, {&machine_->head(), 1});
  if (!known) return machine_->failed(known.error(), moment());
  return machine_->checked(known->front() != Admission::fresh, moment());
}

Action Runner::perform(const Resolve&) {
  const Result<CommitFate> fate = store_.resolve(*term_);
  if (!fate) return machine_->failed(fate.error(), moment());
  const Action next = machine_->resolved(*fate, moment());
  leaveLists();
  return next;
}

Action Runner::perform(const Abandon&) {
  abandon();
  return machine_->did(moment());
}

Action Runner::perform(const Admit& asked) {
  const Message& message = machine_->head();
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused(ready.error());
  const Result<Admission> admission = transaction_->admit(name_, message.id, digestOf(message.body), MessageFate::done);
  if (!admission) return refused(admission.error());
  return machine_->admitted(*admission, moment());
}

Action Runner::perform(const Undo&) {
  const Result<void> undone = transaction_->rollbackToMark();
  return undone ? machine_->did(moment()) : refused(undone.error());
}

Action Runner::perform(const Bury& bury) {
  const Result<void> buried = book(bury);
  return buried ? machine_->did(moment()) : refused(buried.error());
}

Action Runner::perform(const Commit& commit) {
  reportProgress();
  const Result<void> committed = book(commit);
  if (committed) transaction_.reset();
  const Action next = committed ? machine_->did(moment()) : refused(committed.error());
  leaveLists();
  if (!committed) return next;
  releaseWhenFree();
  return next;
}

Result<void> Runner::book(const Bury& bury) {
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

Result<void> Runner::book(const Commit& commit) {
  const auto window = machine_->window();
  Result<void> done = begin();
  if (done && commit.undo) done = transaction_->rollbackToMark();
  if (done && commit.forgive != nullptr) done = transaction_->clearAttempt(name_, *commit.forgive);
  if (done && commit.record != nullptr) done = transaction_->recordAttempt(name_, *commit.record);
  if (done && commit.clock != nullptr) done = transaction_->recordAttempt(name_, *commit.clock);
  if (done && commit.streak != nullptr)
    done = commit.streak->attempts > 0 ? transaction_->recordAttempt(name_, *commit.streak)
                                       : transaction_->clearAttempt(name_, commit.streak->id);
  if (done && !commit.log.empty()) done = transaction_->logAttempts(name_, commit.log);
  if (done)
    done = transaction_->recordInWork(
        recordName_, idsOf(window.subspan(commit.settled, commit.inWork), commit.suspectsOf), commit.more);
  if (done && shared_ && commit.acknowledge && commit.settled > 0)
    done = source_.acknowledge(*transaction_, window.first(commit.settled));
  const auto collapsed = machine_->collapsed();
  if (done && shared_ && !collapsed.empty()) done = source_.acknowledge(*transaction_, collapsed);
  if (done) done = bookNumbers();  // last, as others may wait for its lists
  // The last look at the lease; whatever passes between here and the store is the fence's to stop.
  if (done && !term_->valid()) done = Error{Errc::leaseLost, "before a commit"};
  return done ? transaction_->commit() : done;
}

std::span<const MessageId> Runner::idsOf(std::span<const Message> messages, std::optional<FencingToken> suspectsOf) {
  const std::size_t first = suspectsOf ? 1 : 0;
  ids_.resize(first + messages.size());
  if (suspectsOf) ids_[0] = consuming::suspectsOf(*suspectsOf);
  for (std::size_t i = 0; i < messages.size(); ++i) ids_[first + i].value = messages[i].id.value;
  return ids_;
}

Result<void> Runner::begin() {
  if (transaction_) return {};
  Result<std::unique_ptr<IFencedTransaction>> begun = store_.begin(*term_);
  if (!begun) return begun.error();
  transaction_ = std::move(*begun);
  return {};
}

void Runner::abandon() noexcept {
  if (transaction_) transaction_->rollback();
  transaction_.reset();
}

/// The store refused: nothing of the transaction may stay.
Action Runner::refused(const Error& error) {
  abandon();
  return machine_->failed(error, moment());
}

Action Runner::did(const Result<void>& result) {
  return result ? machine_->did(moment()) : machine_->failed(result.error(), moment());
}

// --- the handler

Action Runner::perform(const Handle& asked) {
  reportProgress();
  if (post_ && options_.collapse == Collapse::byKey) machine_->standsFor(post_->begin(machine_->head()));
  Result<void> ready = begin();
  if (ready && asked.mark) ready = transaction_->mark();
  if (!ready) return refused(ready.error());
  return ran(called(handlers_.one, Delivery{machine_->head(), handed(), *term_, asked.attempt}));
}

Action Runner::perform(const HandleTogether&) {
  reportProgress();
  if (const Result<void> ready = begin(); !ready) return refused(ready.error());
  return ran(called(handlers_.many, BatchDelivery{machine_->joined(), handed(), *term_, 1}));
}

/// What the store refused is not the message's fault, whatever the handler makes of it.
Action Runner::ran(const Outcome& outcome) {
  if (const Result<void> sound = transaction_->standing(); !sound) return refused(sound.error());
  return machine_->ran(outcome, moment());
}

}  // namespace tenure::consuming
