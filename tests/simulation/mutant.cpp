#include "mutant.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "lease/term_state.hpp"
#include "mutant_transaction.hpp"

namespace tenure::simulation {
namespace {

struct Description {
  std::string_view name;
  std::string_view what;
  std::array<std::string_view, 3> breaks;  // any of these
};

constexpr std::array<Description, static_cast<std::size_t>(Mutant::count)> descriptions{{
    {"none", "nothing", {}},
    {"no-fence", "any transaction commits", {"S1", "S4"}},
    {"check-then-write", "the fence is looked at by the first write, not held until the commit", {"S1", "S4"}},
    {"lazy-claim", "the fence is raised by a term's first transaction", {"S1", "S4"}},
    {"read-before-claim", "what earlier terms left is read, then claimed", {"S4"}},
    {"ack-before-commit", "acknowledged, then committed", {"S5"}},
    {"no-dedup", "every message is fresh", {"S2"}},
    {"no-source-exclusivity", "a broker's queue lets everybody in", {"S3"}},
    {"no-barrier", "the marker always looks idle", {"S6"}},
    {"lease-from-reply", "the lease counts from a probe's reply", {"lease", "two leases"}},
    {"rank-by-sequence", "candidates are ranked, and tokens made, by sequence number", {"S7"}},
    {"no-letter", "what is dead leaves no letter", {"S9"}},
    {"lost-attempts", "failed attempts are counted, but not in the store", {"R2"}},
    {"uncharged", "suspects start before they are charged", {"R5"}},
    {"no-backoff", "the next attempt does not wait", {"R1"}},
    {"no-queue-limit", "only groups are held back", {"T1"}},
    {"no-group-limit", "only the queue is held back", {"T1"}},
    {"stale-limits", "limits that change are not noticed", {"T1"}},
    {"numbers-ignored", "messages are handled in the order they come", {"N2"}},
    {"early-lost", "what comes early is acknowledged, and not kept", {"N3"}},
    {"position-lost", "where a group stands is known, but not to the store", {"N1"}},
    {"gap-without-note", "numbers are given up, and nobody is told", {"N1"}},
    {"in-work-forgotten", "what a predecessor had in work is not asked for", {"R5"}},
    {"group-freed-early", "the scheduler gives a group to a lane while another one has it", {"S6: one", "S3"}},
    {"parked-overtaken", "what comes for a group that waits for an attempt does not wait with it", {"S3"}},
    {"lane-without-fence", "only the transactions of the career thread are fenced", {"S1", "S4"}},
    {"early-resign", "the leadership is given up before what is in hand is finished", {"S6: term"}},
    {"ack-on-delivery", "at least once acknowledges what it is given", {"G1"}},
    {"starts-again", "at most once starts a handler before the key of its message is durable", {"G3"}},
    {"keys-alike", "a run stands for what has another key", {"C1"}},
    {"failure-in-batch", "of many that are handled at once, those that fail count as done", {"B1"}},
    {"unlogged", "the log of attempts leaves out those that failed", {"H2"}},
    {"host-name-is-machine", "another boot of a host of the same name ends all that ran there", {"S6: term"}},
    {"unknown-is-gone", "who cannot be looked at is gone", {"S6: term"}},
    {"will-unproven", "a last will is carried out before all is gone that ran for the term", {"S6: term"}},
    {"will-of-frozen", "a last will is carried out though its process only stands still", {"two leases", "S6: term"}},
    {"returned-is-known", "what a broker delivers again is done", {"S5", "G1"}},
    {"forgets-early", "keys are forgotten before their time", {"P1"}},
    {"returns-last", "what a broker delivers again comes after what it delivers for the first time", {"S3"}},
    {"half-applied", "a commit is written but for what the queue that it sends to does not take", {"E2"}},
    {"reads-forgotten", "what a lane has read is not expected at its commit", {"E1", "S3: the chain"}},
    {"letters-whole", "a dead letter that its store does not take is not cut", {"L2", "busy"}},
    {"refusal-ends-term", "a commit that is refused for one message ends the term", {"L2", "L1"}},
    {"lost-claim-forgotten", "what a claim made anew has written without a reply looks a stranger's", {"L5", "S7"}},
    {"copies-apart", "copies of a message are strangers to the scheduler", {"S6: copies"}},
    {"narrowed-unrecorded", "many suspects come few at a time, and the record does not say which", {"R5"}},
    {"promotion-unfenced", "messages with a time are promoted without the reader's token", {"D5"}},
    {"two-promoters", "whoever stands by promotes as well", {"D5"}},
    {"due-by-leader", "what is due goes by the leader's clock, though the store has one", {"D1"}},
    {"fired-unrecorded", "a promotion leaves no record of what came to the queue", {"D2"}},
    {"promoted-in-two", "a message leaves the room in one transaction and comes to the queue in another", {"D3"}},
    {"promoted-backwards", "what is promoted at once comes in the reverse order", {"D4"}},
    {"jump-believed", "after a jump the store's clock is believed at once", {"D1"}},
    {"cancels-unlooked", "a cancellation does not look whether its message still waits when it commits", {"D2"}},
    {"places-cursor", "a look begins behind the last place that was seen", {"W2", "W3", "W5"}},
    {"bound-too-far", "a look begins one place behind the settled bound", {"W2", "W3", "W5"}},
    {"asleep-unlooked", "a reader says that it sleeps, and sleeps without another look", {"W4"}},
    {"woken-by-insert", "a sender looks whether the reader sleeps as it inserts, not as it commits", {"W4"}},
    {"lease-from-marker", "after a baton the lease counts from when the marker was read", {"lease", "two leases"}},
    {"baton-unchecked", "the baton is passed without a look at the successor's znode", {"O1"}},
    {"baton-by-name", "the baton is passed to any candidacy of the replica that has accepted", {"O1"}},
    {"baton-after-unknown", "a term whose end is unknown is handed over as if in order", {"O2"}},
    {"outage-ends-term", "a leader leaves in an outage, whether another one could work or not", {"R1"}},
    {"lock-ends-work", "a row that somebody else has locked counts as an outage of the store", {"R2"}},
    {"accepts-unasked", "a leadership is accepted without a question to the store", {"R3"}},
    {"answer-twice", "the effects of an answer are applied twice", {"E2"}},
    {"given-unrecorded", "a message is thought about as soon as it is read, before it is on record", {"R5"}},
    {"thrown-away-committed", "a message that is given again is answered as it was before", {"S3: the chain", "E1"}},
}};

const Description& of(Mutant mutant) noexcept { return descriptions[static_cast<std::size_t>(mutant)]; }

}  // namespace

std::string_view toString(Mutant mutant) noexcept { return of(mutant).name; }
std::string_view describe(Mutant mutant) noexcept { return of(mutant).what; }

bool isMeantToBreak(Mutant mutant, std::string_view promise) noexcept {
  return std::ranges::any_of(of(mutant).breaks,
                             [&](std::string_view one) { return !one.empty() && promise.starts_with(one); });
}

std::optional<Mutant> parseMutant(std::string_view name) noexcept {
  const auto found = std::ranges::find(descriptions, name, &Description::name);
  if (found == descriptions.end()) return std::nullopt;
  return static_cast<Mutant>(found - descriptions.begin());
}

Result<void> MutantStore::reallyClaim(const Term& term) {
  TermIdentity identity = term.identity();
  identity.token = FencingToken{++fence_.invented};
  auto state = std::make_shared<TermState>(std::move(identity), std::chrono::hours{1}, loop_);
  state->lease().confirm(loop_.now());
  invented_.emplace(state);
  return inner().claim(*invented_);
}

void MutantStore::release() noexcept {
  invented_.reset();
  inner().release();
}

Result<ConsumerState> MutantStore::consumerState(const ConsumerName& consumer) {
  return isUnclaimed() ? world_.consumerState(consumer) : inner().consumerState(consumer);
}

Result<void> MutantStore::claim(const Term& term) {
  if (mutant_ == Mutant::noDedup) return inner().claim(term);
  if (term.token() < fence_.highest) return Error{Errc::staleTerm, "a newer term has claimed"};
  if (mutant_ == Mutant::lazyClaim) return {};
  fence_.highest = term.token();
  return reallyClaim(term);
}

Result<std::unique_ptr<IFencedTransaction>> MutantStore::begin(const Term& term) {
  if (mutant_ == Mutant::lazyClaim && raised_ != term.token()) {
    if (term.token() < fence_.highest) return Error{Errc::staleTerm, "a newer term has claimed"};
    fence_.highest = raised_ = term.token();
    if (Result<void> claimed = reallyClaim(term); !claimed) return claimed.error();
  }
  auto begun = inner().begin(claimed(term));
  if (!begun) return begun.error();
  return std::unique_ptr<IFencedTransaction>{std::make_unique<MutantTransaction>(*this, term, std::move(*begun))};
}

Result<std::unique_ptr<IFencedTransaction>> MutantStore::beginAnyway(const Term& term) {
  if (Result<void> claimed = reallyClaim(term); !claimed) return claimed.error();
  return inner().begin(claimed(term));
}

Result<std::vector<Admission>> MutantStore::known(const ConsumerName& consumer, std::span<const Message> messages) {
  if (mutant_ == Mutant::noDedup || isUnclaimed()) return std::vector<Admission>(messages.size(), Admission::fresh);
  return inner().known(consumer, messages);
}

// --- the transaction

Result<void> MutantTransaction::pass(Step step) {
  if (store_.mutant() == Mutant::checkThenWrite && !lookedAtTheFence_)
    if (const auto looked = inner().get("whatever"); !looked) return looked.error();
  steps_.push_back(std::move(step));
  Result<void> result = steps_.back()(inner());
  const bool fenced = !result && result.error().is(Errc::staleTerm);
  const bool looked = std::exchange(lookedAtTheFence_, true);
  const bool passes = store_.mutant() == Mutant::noFence || (store_.mutant() == Mutant::checkThenWrite && looked) ||
                      (store_.mutant() == Mutant::laneWithoutFence && ofLane_);
  if (!fenced || !passes) return result;
  auto again = store_.beginAnyway(term_);
  if (!again) return again.error();
  replace(std::move(*again));
  for (const Step& one : steps_) result = one(inner());
  return result;
}

Result<Admission> MutantTransaction::admit(const ConsumerName& consumer, const MessageId& id, const BodyDigest& digest,
                                           MessageFate fate) {
  MessageId key = id;
  if (store_.mutant() == Mutant::noDedup) key.value += "#" + std::to_string(store_.nextKey());
  return ForwardingTransaction::admit(consumer, key, digest, fate);
}

Result<void> MutantTransaction::mark() {
  steps_.emplace_back([](auto& inner) { return inner.mark(); });
  return inner().mark();
}

}  // namespace tenure::simulation
