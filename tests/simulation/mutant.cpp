#include "mutant.hpp"

#include <array>
#include <functional>

#include "fencing/term_state.hpp"
#include "mutant_transaction.hpp"

namespace tenure::simulation {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Mutant::count)> names{"none",
                                                                                      "no-fence",
                                                                                      "check-then-write",
                                                                                      "lazy-claim",
                                                                                      "read-before-claim",
                                                                                      "ack-before-commit",
                                                                                      "no-dedup",
                                                                                      "no-source-exclusivity",
                                                                                      "no-barrier",
                                                                                      "lease-from-reply",
                                                                                      "rank-by-sequence"};

}  // namespace

std::string_view toString(Mutant mutant) noexcept { return names[static_cast<std::size_t>(mutant)]; }

std::optional<Mutant> parseMutant(std::string_view name) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Mutant>(i);
  return std::nullopt;
}

Result<void> MutantStore::reallyClaim(const Term& term) {
  TermIdentity identity = term.identity();
  identity.token = FencingToken{++fence_.invented};
  auto state = std::make_shared<TermState>(std::move(identity), std::chrono::hours{1}, clock_);
  state->lease().confirm(clock_.now());
  return inner().claim(Term(state));
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
  auto begun = inner().begin(term);
  if (!begun) return begun.error();
  return std::unique_ptr<IFencedTransaction>{std::make_unique<MutantTransaction>(*this, term, std::move(*begun))};
}

Result<std::unique_ptr<IFencedTransaction>> MutantStore::beginAnyway(const Term& term) {
  if (Result<void> claimed = reallyClaim(term); !claimed) return claimed.error();
  return inner().begin(term);
}

Result<std::vector<Admission>> MutantStore::known(const ConsumerName& consumer, std::span<const Message> messages) {
  if (mutant_ == Mutant::noDedup) return std::vector<Admission>(messages.size(), Admission::fresh);
  return inner().known(consumer, messages);
}

// --- the transaction

Result<void> MutantTransaction::pass(Step step) {
  steps_.push_back(std::move(step));
  Result<void> result = steps_.back()(inner());
  const bool fenced = !result && result.error().is(Errc::staleTerm);
  const bool looked = std::exchange(lookedAtTheFence_, true);
  const bool passes = store_.mutant() == Mutant::noFence || (store_.mutant() == Mutant::checkThenWrite && looked);
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
