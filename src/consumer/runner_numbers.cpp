// What the runner reads and writes for a consumer that follows numbers.
#include "base/text.hpp"
#include "consumer/runner.hpp"

namespace tenure::consuming {
namespace {

constexpr std::chrono::seconds longestWaitForLists{1};

}  // namespace

Action Runner::perform(const Reopen&) {
  const Result<std::vector<std::string>> places = openPlaces();
  abandon();
  return places ? machine_->reopened(*places, moment()) : machine_->failed(places.error(), moment());
}

Action Runner::perform(const Consult&) {
  const Result<std::optional<std::string>> place = readAlone(machine_->sequencer()->keyOf(machine_->head().group));
  return place ? machine_->consulted(*place, moment()) : refused(place.error());
}

Action Runner::perform(const Load& load) {
  reportProgress();
  Result<std::vector<Message>> messages = keptMessages(load.ready);
  abandon();
  if (!messages) return machine_->failed(messages.error(), moment());
  foretell(*messages);
  if (post_ != nullptr) machine_->know(post_->pastsOf(*messages));
  return machine_->loaded(load.ready, *std::move(messages), moment());
}

Result<std::vector<std::string>> Runner::openPlaces() {
  std::vector<std::string> places;
  if (const Result<void> ready = begin(); !ready) return ready.error();
  for (const char digit : pipeline::openDigits) {
    const auto digests = transaction_->get(pipeline::openKey(name_, digit));
    if (!digests) return digests.error();
    for (const std::string& digest : pipeline::digestsFromText(digests->value_or(""))) {
      reportProgress();
      const auto place = transaction_->get(pipeline::placeKey(digest));
      if (!place) return place.error();
      if (*place) places.push_back(**place);
    }
  }
  return places;
}

Result<std::vector<Message>> Runner::keptMessages(const pipeline::Ready& ready) {
  std::vector<Message> messages;
  if (const Result<void> begun = begin(); !begun) return begun.error();
  const std::string digest = pipeline::digestText(name_, ready.group);
  for (const std::int64_t number : ready.numbers) {
    const auto head = transaction_->get(pipeline::keptKey(digest, number));
    if (!head) return head.error();
    auto body = transaction_->get(pipeline::keptBodyKey(digest, number));
    if (!body) return body.error();
    if (!*head || !*body)
      return Error{Errc::storeFailed, "a kept message is missing: number " + std::to_string(number) + " of group \"" +
                                          escaped(ready.group.value) + "\""};
    Result<Message> message = pipeline::keptFromText(**head, std::move(**body));
    if (!message) return message.error();
    messages.push_back(*std::move(message));
  }
  return messages;
}

/// Where no transaction is open, without a lock that outlasts it.
Result<std::optional<std::string>> Runner::readAlone(const std::string& key) {
  const bool alone = transaction_ == nullptr;
  if (const Result<void> ready = begin(); !ready) return ready.error();
  auto value = transaction_->get(key);
  if (alone) abandon();
  return value;
}

Result<void> Runner::bookNumbers() {
  const pipeline::Sequencer* sequencer = machine_->sequencer();
  if (sequencer == nullptr) return {};
  Result<void> done;
  if (const std::set<char> changed = sequencer->changedLists(); post_ != nullptr && !changed.empty()) {
    post_->excuse(true);
    const BootTime began = clock_.now();
    done = post_->lists().enter(changed, lists_);
    post_->excuse(false);
    // The one before may have waited for what this transaction holds at the store, until that took it away.
    if (done && clock_.now() - began > longestWaitForLists)
      return Error{Errc::undone, "another lane took long to learn what became of its commit"};
  }
  for (const pipeline::StateWrite& write : sequencer->writes())
    if (done) done = write.value ? transaction_->put(write.key, *write.value) : transaction_->erase(write.key);
  for (const DeadLetter& note : sequencer->notes())
    if (done) done = transaction_->deadLetter(name_, note);
  return done;
}

/// Others may go on with what was committed, or was not.
void Runner::leaveLists() noexcept {
  if (machine_->isOutcomeKnown()) lists_.release();
}

void Runner::letGo() noexcept {
  abandon();
  if (post_ != nullptr) post_->lists().lose(lists_);
}

/// What a handler may write to.
Transaction& Runner::handed() noexcept {
  if (machine_->sequencer() == nullptr) return *transaction_;
  return guarded_.emplace(*transaction_);
}

}  // namespace tenure::consuming
