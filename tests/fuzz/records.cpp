// Znode data: whatever stands there is read, never trusted. The first byte chooses the record.
#include "election/records.hpp"

#include "claims.hpp"

using namespace tenure;
using namespace tenure::fuzz;

namespace {

constexpr std::size_t longestText = 1024;

void checkProcess(const ProcessIdentity& process) {
  require(process.host.size() <= longestText && process.bootId.size() <= longestText, "texts are bounded");
  require(process.pid >= 0 && process.startTime >= 0, "a process is never named by a negative number");
}

void checkCandidate(std::string_view json) {
  const CandidateRecord record = parseCandidateRecord(json);
  require(record.known == !record.id.value.empty(), "who has no id is not known");
  require(record.id.value.size() <= longestText && record.status.size() <= longestText, "texts are bounded");
  checkProcess(record.process);
  require(isShowable(formatWallTime(record.since)), "any time can be shown");
  require(toJson(parseCandidateRecord(toJson(record))) == toJson(record), "a record survives being written", json);
}

void checkMarker(std::string_view json) {
  const MarkerRecord record = parseMarkerRecord(json);
  require(record.known || (record.busy && record.barrierLimit == fullBarrier), "garbage is busy, with a full barrier");
  require(record.barrierLimit.count() >= 0 && record.barrierLimit <= longestBarrier, "a barrier has its limits", json);
  require(record.token.value >= 0, "a token is not negative", json);
  checkProcess(record.holder);
  require(isShowable(formatWallTime(record.since)), "any time can be shown");
  if (record.known) require(toJson(parseMarkerRecord(toJson(record))) == toJson(record), "it survives", json);
}

void checkMeta(std::string_view json) {
  const std::optional<MetaRecord> record = parseMetaRecord(json);
  if (!record) return;
  require(!record->ensemble.value.empty() && record->generation >= 1, "an ensemble is named and counted", json);
  const std::optional<MetaRecord> again = parseMetaRecord(toJson(*record));
  require(again && again->ensemble == record->ensemble && again->generation == record->generation, "it survives", json);
}

void checkHandover(std::string_view json) {
  const std::optional<HandoverRequest> request = parseHandoverRequest(json);
  if (!request) return;
  require(request->term.value > 0, "a request names its term", json);
  require(!request->to || !request->to->value.empty(), "a target has a name", json);
  const std::optional<HandoverRequest> again = parseHandoverRequest(toJson(*request));
  require(again && toJson(*again) == toJson(*request), "it survives", json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  constexpr void (*checks[])(std::string_view) = {checkCandidate, checkMarker, checkMeta, checkHandover};
  const std::uint8_t which = bytes.byte();
  checks[which % std::size(checks)](bytes.rest());
  return 0;
}
