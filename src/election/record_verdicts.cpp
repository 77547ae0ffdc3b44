// Judges the election's records: may a candidate follow, in what do two replicas differ, may a holder have died, is a
// message to blame for a leader that is stuck?
#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "election/records.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {
namespace {

void append(std::string& hex, std::byte byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  hex += digits[std::to_integer<std::size_t>(byte >> 4)];
  hex += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
}

}  // namespace

std::string whyNotFollow(Readiness readiness, const std::string& why, const std::string& differs) {
  if (readiness == Readiness::notReady) return "it is not ready: " + escaped(why);
  if (!differs.empty()) return "its settings differ from the leader's: " + escaped(differs);
  return readiness == Readiness::checking ? "it is still getting ready" : "";
}

AgreementDigests digestsOf(const Agreement& agreement) {
  constexpr std::size_t enough = 8;
  AgreementDigests digests;
  for (const auto& [name, value] : agreement) {
    const BodyDigest digest = digestOf(value);
    std::string text;
    for (std::size_t i = 0; i < enough; ++i) append(text, digest[i]);
    digests.emplace(name, std::move(text));
  }
  return digests;
}

std::string differencesOf(const AgreementDigests& one, const AgreementDigests& other) {
  std::string names;
  for (const auto& [name, digest] : one) {
    const auto theirs = other.find(name);
    if (theirs != other.end() && theirs->second != digest) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

bool mayHaveDied(const MarkerRecord& record) noexcept {
  return record.fate == HolderFate::died || (record.busy && record.fate != HolderFate::outlived);
}

std::string whyItWaits(const MarkerRecord& marker) {
  if (!marker.known) return "the marker cannot be understood";
  if (!marker.why.empty()) return escaped(marker.why);
  if (marker.nothingRuns) return "nothing of its term runs any more";
  const std::string silent = "nobody has said that its term is over";
  return marker.spawns ? silent + ", and what it started may outlive it" : silent;
}

StuckVerdict judge(const StuckRecord& mine, const StuckRecords& known) {
  constexpr std::chrono::hours blamedFor{24};
  constexpr std::size_t mostKept = 16;
  // An id that is no UTF-8 is not written as it is.
  const StuckRecords written = parseStuckRecords(toJson(StuckRecords{mine}));
  const auto isSame = [&](const StuckRecord& each) { return each.message == written.front().message; };
  const auto same = std::ranges::find_if(known, isSame);
  const bool isKnown = same != known.end() && mine.since - same->since < blamedFor;
  if (isKnown && same->term == mine.term) return {};
  if (isKnown && mine.since - same->since < blamedFor / 2) return {.isBlamed = true};
  StuckRecords kept{isKnown ? StuckRecord{same->term, mine.message, mine.since} : mine};
  std::ranges::remove_copy_if(known, std::back_inserter(kept), [&](const StuckRecord& each) {
    return isSame(each) || mine.since - each.since >= blamedFor;
  });
  if (kept.size() > mostKept) kept.resize(mostKept);
  return {.isBlamed = isKnown, .write = std::move(kept)};
}

}  // namespace tenure
