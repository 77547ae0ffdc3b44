/// What the election's znodes say, as JSON. Whatever is found there is read: garbage, a newer version or another
/// program's data become "unknown", never an error that could stop an election. Numbers of 64 bits are decimal strings,
/// since other readers' numbers are doubles.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "tenure/candidate.hpp"

namespace tenure {

/// The longest barrier there is: half of the longest session timeout.
constexpr std::chrono::milliseconds longestBarrier{30 * 60 * 1000};
/// The one after a term of which nothing is known.
constexpr std::chrono::milliseconds fullBarrier{30'000};

/// The longest a preferred candidate can be told to stand by.
constexpr std::chrono::milliseconds longestPreferredAfter{24 * 60 * 60 * 1000};

/// The data of a candidacy, for people and for tools; who is elected never depends on it. It never changes.
struct CandidateRecord {
  bool known = false;
  CandidateId id;
  ProcessIdentity process;
  std::string version;
  std::string status;  // address of its status page, empty for none
  WallTime since{};
  Preference preference = Preference::normal;
  std::chrono::milliseconds preferredAfter{0};  // of a preferred one
};
std::string toJson(const CandidateRecord& record);
CandidateRecord parseCandidateRecord(std::string_view json);

/// The last term: in office (busy), or properly ended (idle).
struct MarkerRecord {
  bool known = false;
  bool busy = true;
  FencingToken token;
  CandidateUuid candidate;
  CandidateId id;
  ProcessIdentity holder;
  WallTime since{};  // when it began; idle: when it ended, or began where only a last will has ended it
  std::chrono::milliseconds barrierLimit = fullBarrier;
  bool spawns = false;  // the holder's end is not the end of all that it has started
};
std::string toJson(const MarkerRecord& record);
/// What cannot be understood is busy, by an unknown holder, with the full barrier.
MarkerRecord parseMarkerRecord(std::string_view json);

/// Which ensemble's data this is; a rebuilt one has another uuid or generation.
struct MetaRecord {
  EnsembleUuid ensemble;
  std::int64_t generation = 1;
};
std::string toJson(const MetaRecord& record);
std::optional<MetaRecord> parseMetaRecord(std::string_view json);

/// Asks the leader of one term to hand over. Meant for no other term: with it a scheduled request lapses, too.
struct HandoverRequest {
  FencingToken term;
  std::string by;
  std::optional<CandidateUuid> to;  // to whoever is next when there is none
  WallTime until{};                 // the last moment to begin
  WallTime at{};                    // the first one, by the leader's calendar clock
  friend bool operator==(const HandoverRequest&, const HandoverRequest&) = default;
};
std::string toJson(const HandoverRequest& request);
std::optional<HandoverRequest> parseHandoverRequest(std::string_view json);

}  // namespace tenure
