/// How far a term may go beyond the messages that its records name. Whoever follows one that died has to look as far,
/// whatever its own numbers are: so a term that goes by other ones writes them down before it begins anything under
/// them, and when everything that an earlier one may have died of is done.
#pragma once

#include <cstddef>

#include "tenure/consumer.hpp"
#include "tenure/spi/store.hpp"

namespace tenure::consuming {

/// More suspects than that are narrowed down, so many at a time: of 512, a killer is found by 16 commits and 32
/// messages that come alone.
inline constexpr std::size_t fewSuspects = 32;

/// How many messages share a transaction at most.
std::size_t batchLimitOf(const ConsumerOptions& options) noexcept;
RecoveryWindow recoveryWindowOf(const ConsumerOptions& options) noexcept;

/// What earlier terms left.
struct Recollection {
  ConsumerState state;
  bool isNarrowedDown = false;  // whoever is in work comes alone, however many they are
};

/// A lane's own record is that of a consumer with another name: none that a person would choose.
ConsumerName recordOf(const ConsumerName& consumer, std::size_t lane);

/// Begins a record that holds what is left of the suspects of an earlier term: it is about that one.
MessageId suspectsOf(FencingToken term, bool narrowedDown);
/// Without that word, as the record of the term it is about. True: they are narrowed down.
bool readWhose(ConsumerState& state);

}  // namespace tenure::consuming
