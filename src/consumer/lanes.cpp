#include "consumer/lanes.hpp"

#include "consumer/charges.hpp"

namespace tenure::consuming {
namespace {

constexpr std::size_t mainPost = 0;  // lanes are 1, 2, …
constexpr std::size_t windowBytes = 64U << 20U;

pipeline::Desk deskOf(const ConsumerOptions& options) {
  std::optional<pipeline::Collapser> collapser;
  if (options.collapse == Collapse::byKey) collapser.emplace(options.collapseKey, options.collapseAhead);
  return {{options.laneWindow, windowBytes, reachOf(options).front}, 1 + options.ordering.lanes, std::move(collapser)};
}

}  // namespace

/// The main runner's post: before the lanes begin it handles what a dead predecessor may have had in work.
class Lanes::Recovery final : public IPost, public IMessageSource {
 public:
  Recovery(Lanes& lanes, const Term& term)
      : lanes_(lanes), desk_(*lanes.desk_), term_(term.identity()), stop_(term.stopToken()) {}

  /// Known once the source was read as far as a predecessor can have had it in its window.
  bool isDone() const { return filled_ && !desk_.hasSuspects(mainPost); }

  Role role() const noexcept override { return Role::recovery; }
  std::stop_token stopToken() const noexcept override { return stop_; }
  void reportProgress() noexcept override { desk_.reportProgress(mainPost); }
  ConsumerName recordName(const ConsumerName& consumer) const override { return consumer; }

  Result<Recollection> recall(const ConsumerName& consumer) override {
    const Reach own = reachOf(lanes_.options_);
    Result<Recollection> left = recollect(lanes_.store_, consumer, term_, own, lanes_.clock_.wallNow());
    if (!left) return left;
    ConsumerState& state = left->state;
    const Reach theirs = left->reach.value_or(own);
    expects_ = !state.inWork.empty() || state.moreInWork;
    desk_.suspect({state.inWork.begin(), state.inWork.end()}, state.moreInWork ? theirs.front : 0, theirs.window);
    desk_.remember(std::move(state.attempts));
    state.attempts.clear();
    return left;
  }

  Result<Assignment> take(std::size_t max, BootTime) override {
    if (const Result<void> filled = fill(); !filled) return filled.error();
    return desk_.takeSuspects(mainPost, max);
  }
  void release(std::vector<pipeline::Standing> standings) override { desk_.release(mainPost, std::move(standings)); }
  void park(Parked parked, BootTime until) override { desk_.park(mainPost, std::move(parked), until); }
  BootTime takeTurn(const GroupId& group) override { return desk_.takeSuspectsTurn(group); }
  bool prunes() const noexcept override { return false; }
  std::vector<Past> pastsOf(std::span<const Message> messages) override { return desk_.pastsOf(messages); }
  NumberLists& lists() noexcept override { return *lanes_.lists_; }
  std::shared_ptr<Notes> notes() const override { return lanes_.notes_; }
  void excuse(bool) noexcept override {}
  const AnswerTimer* sourceTimer() const noexcept override { return &lanes_.sourceTimer_; }

  Result<void> attach(const Term& term) override {
    filled_ = false;
    desk_.clear();
    return lanes_.source_.attach(term);
  }
  Result<std::vector<Message>> fetch(std::size_t, BootTime, std::stop_token) override { return std::vector<Message>{}; }
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override {
    return lanes_.source_.sharesTransactionsWith(store);
  }
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    return lanes_.source_.acknowledge(transaction, messages);
  }
  Result<void> acknowledge(std::span<const Message> messages) override {
    return acknowledge(Settled{.messages = messages, .others = {}, .dropped = {}});
  }
  Result<void> acknowledge(const Settled& settled) override {
    Result<void> acknowledged;
    if (!lanes_.shared_) acknowledged = lanes_.source_.acknowledge(settled.messages);
    if (acknowledged && !lanes_.shared_ && !settled.others.empty())
      acknowledged = lanes_.source_.acknowledge(settled.others);
    if (acknowledged) desk_.acknowledge(mainPost, settled, false);
    return acknowledged;
  }
  std::vector<Message> begin(const Message& message) override { return desk_.begin(message); }
  bool mustReadAgain() const override { return desk_.mustBeReadAgain(); }
  void detach() noexcept override { lanes_.source_.detach(); }

 private:
  Result<void> fill() {
    while (expects_ && !filled_ && desk_.room() > 0) {
      Result<std::vector<Message>> messages = lanes_.source_.fetch(desk_.room(), onlyLook, stop_);
      if (!messages) return messages.error();
      if (messages->empty()) break;
      desk_.receive(std::move(*messages));
    }
    filled_ = true;
    return {};
  }

  Lanes& lanes_;
  SharedDesk& desk_;
  const TermIdentity term_;
  const std::stop_token stop_;
  bool expects_ = false;
  bool filled_ = false;
};

/// A lane's post, and to its runner the source.
class Lanes::Post final : public IPost, public IMessageSource, public IGateWatch {
 public:
  Post(Lanes& lanes, std::size_t number) : lanes_(lanes), desk_(*lanes.desk_), number_(number) {}
  void useStore(IFencedStore& store) { store_ = &store; }

  Role role() const noexcept override { return Role::lane; }
  std::stop_token stopToken() const noexcept override { return lanes_.stop_.get_token(); }
  void reportProgress() noexcept override { desk_.reportProgress(number_); }
  ConsumerName recordName(const ConsumerName& consumer) const override { return recordOf(consumer, number_); }
  Result<Recollection> recall(const ConsumerName& consumer) override {
    Result<ConsumerState> state = store_->consumerState(recordOf(consumer, number_));
    if (!state) return state.error();
    return Recollection{*std::move(state)};
  }
  Result<Assignment> take(std::size_t max, BootTime until) override {
    return desk_.take(number_, max, until, stopToken());
  }
  void release(std::vector<pipeline::Standing> standings) override { desk_.release(number_, std::move(standings)); }
  void park(Parked parked, BootTime until) override { desk_.park(number_, std::move(parked), until); }
  BootTime takeTurn(const GroupId& group) override { return desk_.takeTurn(group); }
  bool prunes() const noexcept override { return number_ == 1; }
  std::vector<Past> pastsOf(std::span<const Message> messages) override { return desk_.pastsOf(messages); }
  NumberLists& lists() noexcept override { return *lanes_.lists_; }
  std::shared_ptr<Notes> notes() const override { return lanes_.notes_; }
  void excuse(bool excused) noexcept override { desk_.excuse(number_, excused); }
  void waitsAtGate(bool waits) noexcept override { excuse(waits); }
  void leave() { desk_.leave(number_); }

  Result<void> attach(const Term&) override { return {}; }
  Result<std::vector<Message>> fetch(std::size_t, BootTime, std::stop_token) override { return std::vector<Message>{}; }
  /// Its store is the shared one, or a lane of it.
  bool sharesTransactionsWith(const IFencedStore&) const noexcept override { return lanes_.shared_; }
  Result<void> acknowledge(IFencedTransaction& transaction, std::span<const Message> messages) override {
    if (lanes_.gated_) return static_cast<GatedTransaction&>(transaction).acknowledge(lanes_.source_, messages);
    return lanes_.source_.acknowledge(transaction, messages);
  }
  /// The reader tells the source.
  Result<void> acknowledge(std::span<const Message> messages) override {
    return acknowledge(Settled{.messages = messages, .others = {}, .dropped = {}});
  }
  Result<void> acknowledge(const Settled& settled) override {
    desk_.acknowledge(number_, settled, !lanes_.shared_);
    return {};
  }
  std::vector<Message> begin(const Message& message) override { return desk_.begin(message); }
  void detach() noexcept override {}

 private:
  Lanes& lanes_;
  SharedDesk& desk_;
  IFencedStore* store_ = nullptr;
  const std::size_t number_;
};

Lanes::Lanes(IMessageSource& source, IFencedStore& store, Handlers handlers, const ConsumerOptions& options,
             IEventSink& events, const IClock& clock, IThreads& threads)
    : source_(source),
      store_(store),
      shared_(source.sharesTransactionsWith(store)),
      handlers_(std::move(handlers)),
      options_(options),
      events_(events),
      clock_(clock),
      threads_(threads),
      sourceTimer_(options.outageLimit, watch_) {}

Lanes::~Lanes() { join(); }

// --- phases

void Lanes::check(const std::stop_token& stop) {
  const Result<void> ready = isReady(source_, store_, stop);
  store_.release();
  ready.value();
}

void Lanes::prepare(const std::stop_token& stop) {
  isReady(source_, store_, stop).value();
  openStores();
  for (const auto& store : laneStores_)
    if (store != nullptr && !stop.stop_requested()) store->prepare(stop).value();
  if (options_.prepare) options_.prepare(stop);
}

/// Of the next term's lanes.
void Lanes::openStores() {
  for (std::size_t number = laneStores_.size() + 1; number <= options_.ordering.lanes; ++number)
    laneStores_.push_back(store_.openLane(static_cast<std::int64_t>(number)));
}

void Lanes::inaugurate(const Term& term) {
  join();
  stop_ = {};
  failure_ = nullptr;
  recovered_ = false;
  limitsSeen_.reset();
  election_ = term.identity().election;
  token_ = term.token();
  overdueSince_.reset();
  sourceTimer_.reset();
  source_.limitAnswers(&sourceTimer_);
  lists_.emplace(threads_);
  notes_ = std::make_shared<Notes>(options_);
  desk_.emplace(deskOf(options_), 1 + options_.ordering.lanes, clock_, threads_);
  recovery_ = std::make_unique<Recovery>(*this, term);
  main_.emplace(*recovery_, store_, handlers_, options_, events_, clock_, recovery_.get());
  main_->inaugurate(term);
}

bool Lanes::execute(const Term& term) {
  if (!recovered_) return recover(term);
  return read(term);
}

void Lanes::handOver(const Term& term) {
  join();
  bool inOrder = main_.has_value();
  for (const auto& lane : lanes_) {
    const bool orderly = !lane->failed && term.valid();
    orderly ? lane->runner->handOver(term) : lane->runner->leaveSilently(term);
    inOrder = inOrder && orderly && lane->runner->isClosed();
  }
  lanes_.clear();
  if (main_) inOrder ? main_->handOver(term) : main_->leaveSilently(term);
  main_.reset();
  recovery_.reset();
  desk_.reset();
  source_.limitAnswers(nullptr);
}

// --- before the lanes

bool Lanes::recover(const Term& term) {
  readLimits();
  main_->execute(term);
  term.reportProgress();
  if (term.stopToken().stop_requested()) return false;
  recovered_ = recovery_->isDone() && main_->isIdle();
  if (recovered_) open(term);
  return true;
}

void Lanes::open(const Term& term) {
  desk_->trust();
  desk_->adopt(main_->takeStandings());
  lastProgress_ = clock_.now();
  desk_->leave(mainPost);
  openStores();
  for (std::size_t number = 1; number <= options_.ordering.lanes; ++number) {
    auto lane = std::make_unique<Lane>();
    lane->post = std::make_unique<Post>(*this, number);
    lane->store = std::move(laneStores_[number - 1]);
    gated_ = lane->store == nullptr;
    if (gated_) lane->store = std::make_unique<GatedStore>(gate_, *lane->post, store_);
    lane->post->useStore(*lane->store);
    ConsumerOptions options = options_;
    if (options.jitterSeed != 0) options.jitterSeed += number;
    lane->runner =
        std::make_unique<Runner>(*lane->post, *lane->store, handlers_, options, events_, clock_, lane->post.get());
    lanes_.push_back(std::move(lane));
  }
  laneStores_.clear();
  for (const auto& lane : lanes_) lane->thread = threads_.start([this, &lane = *lane, term] { work(lane, term); });
}

// --- a lane's thread

void Lanes::work(Lane& lane, const Term& term) noexcept {
  try {
    lane.runner->inaugurate(term);
    while (!stop_.stop_requested()) lane.runner->execute(term);
  } catch (...) {
    lane.failed = true;
    fail(std::current_exception());
  }
  lane.runner->letGo();
  if (gated_) lane.store->release();
  lane.post->leave();
}

void Lanes::fail(std::exception_ptr why) noexcept {
  const std::lock_guard lock(failureMutex_);
  if (failure_ == nullptr) failure_ = std::move(why);
  hurry();
  stop_.request_stop();
}

void Lanes::join() {
  stop_.request_stop();
  for (const auto& lane : lanes_)
    if (lane->thread != nullptr) lane->thread->join();
}

}  // namespace tenure::consuming
