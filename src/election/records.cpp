#include "election/records.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "tenure/spi/store.hpp"

namespace tenure {

namespace {

using Json = nlohmann::json;

constexpr int schemaVersion = 1;
constexpr std::size_t longestRecord = std::size_t{64} * 1024;
constexpr std::size_t longestText = 1024;
constexpr std::size_t longestWhy = 500;
constexpr std::size_t mostAgreements = 64;
constexpr WallTime latest{std::chrono::milliseconds{253'402'300'799'999}};  // of the year 9999
constexpr std::string_view batonStates[] = {"offered", "accepted", "refused", "passed"};

/// The object, or an empty one for whatever is not an object of our version.
Json objectIn(std::string_view text) {
  if (text.size() > longestRecord) return Json::object();
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Json::object();
  const auto version = json.find("v");
  return version != json.end() && *version == schemaVersion ? json : Json::object();
}

std::string textIn(const Json& json, const char* key, std::size_t longest = longestText) {
  const auto value = json.find(key);
  if (value == json.end() || !value->is_string()) return {};
  const auto& text = value->get_ref<const std::string&>();
  return text.size() <= longest ? text : std::string{};
}

/// 0 where there is none that fits 64 bits.
std::int64_t numberIn(const Json& json, const char* key) {
  const auto value = json.find(key);
  if (value == json.end()) return 0;
  if (value->is_number_unsigned()) {
    const auto number = value->get<std::uint64_t>();
    return std::in_range<std::int64_t>(number) ? static_cast<std::int64_t>(number) : 0;
  }
  if (value->is_number_integer()) return value->get<std::int64_t>();
  return value->is_string() ? parseInteger(value->get_ref<const std::string&>()).value_or(0) : 0;
}

/// What counts or names something is never negative.
std::int64_t naturalIn(const Json& json, const char* key) { return std::max<std::int64_t>(numberIn(json, key), 0); }

WallTime timeIn(const Json& json, const char* key) { return WallTime{std::chrono::milliseconds{numberIn(json, key)}}; }

void put(Json& json, const std::optional<Now>& asked) {
  if (!asked) return;
  json["askedBoot"] = std::to_string(asked->boot.time_since_epoch().count());
  json["asked"] = asked->wall.time_since_epoch().count();
}

std::optional<Now> askedIn(const Json& json) {
  const Now asked{BootTime{Duration{naturalIn(json, "askedBoot")}}, timeIn(json, "asked")};
  if (asked.wall <= WallTime{} || asked.wall > latest) return std::nullopt;
  return asked;
}

FencingToken tokenIn(const Json& json, const char* key) {
  return FencingToken{std::max<std::int64_t>(parseInteger(textIn(json, key)).value_or(0), 0)};
}

std::string decimal(std::int64_t number) { return std::to_string(number); }

Json fresh() { return Json{{"v", schemaVersion}}; }

/// Hosts and ids may hold any bytes; what is not UTF-8 is replaced rather than thrown about.
std::string written(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void put(Json& json, const ProcessIdentity& process) {
  json["host"] = process.host;
  json["pid"] = process.pid;
  json["start"] = decimal(process.startTime);
  json["boot"] = process.bootId;
  json["pidNamespace"] = decimal(static_cast<std::int64_t>(process.pidNamespace));
}

ProcessIdentity processIn(const Json& json) {
  ProcessIdentity process;
  process.host = textIn(json, "host");
  process.pid = naturalIn(json, "pid");
  process.startTime = naturalIn(json, "start");
  process.bootId = textIn(json, "boot");
  process.pidNamespace = static_cast<std::uint64_t>(naturalIn(json, "pidNamespace"));
  return process;
}

void put(Json& json, const char* key, const std::vector<FencingToken>& terms) {
  if (terms.empty()) return;
  Json tokens = Json::array();
  for (const FencingToken token : terms) tokens.push_back(decimal(token.value));
  json[key] = std::move(tokens);
}

void put(Json& json, const LostTerms& lost) {
  json["fatesUnknownUpTo"] = decimal(lost.unknownUpTo.value);
  put(json, "lost", lost.later);
  put(json, "outlived", lost.outlived);
}

/// Empty where there are none, nothing where they cannot be understood.
std::optional<std::vector<FencingToken>> termsIn(const Json& json, const char* key) {
  std::vector<FencingToken> terms;
  const auto tokens = json.find(key);
  if (tokens == json.end()) return terms;
  if (!tokens->is_array()) return std::nullopt;
  for (const Json& each : *tokens) {
    const auto token = each.is_string() ? parseInteger(each.get_ref<const std::string&>()) : std::nullopt;
    if (!token || *token <= 0) return std::nullopt;
    terms.push_back(FencingToken{*token});
  }
  std::ranges::sort(terms);
  return terms;
}

/// Garbage never acquits a term: then nothing is known of any.
LostTerms lostIn(const Json& json) {
  const auto upTo = parseInteger(textIn(json, "fatesUnknownUpTo"));
  if (!upTo || *upTo < 0) return {};
  auto later = termsIn(json, "lost");
  auto outlived = termsIn(json, "outlived");
  if (!later || !outlived) return {};
  return {FencingToken{*upTo}, *std::move(later), *std::move(outlived)};
}

HolderFate fateIn(const Json& json) {
  const std::string text = textIn(json, "process");
  return text == "outlived" ? HolderFate::outlived : text == "died" ? HolderFate::died : HolderFate::untold;
}

std::optional<Preference> preferenceIn(const Json& json) {
  const std::string text = textIn(json, "preference");
  for (const Preference each : {Preference::normal, Preference::preferred, Preference::never})
    if (text == toString(each)) return each;
  return std::nullopt;
}

/// Of a newer version's word we know nothing.
Readiness readinessIn(const Json& json) {
  const std::string text = textIn(json, "readiness");
  for (const Readiness each :
       {Readiness::checking, Readiness::ready, Readiness::prepared, Readiness::notReady, Readiness::inaugurated})
    if (text == toString(each)) return each;
  return Readiness::unknown;
}

AgreementDigests agreementIn(const Json& json) {
  AgreementDigests digests;
  const auto value = json.find("agreement");
  if (value == json.end() || !value->is_object() || value->size() > mostAgreements) return digests;
  for (const auto& [name, digest] : value->items())
    if (digest.is_string()) digests.emplace(name.substr(0, longestText), textIn(*value, name.c_str()));
  return digests;
}

}  // namespace

std::string_view toString(Readiness readiness) noexcept {
  switch (readiness) {
    case Readiness::unknown: return "unknown";
    case Readiness::checking: return "checking";
    case Readiness::ready: return "ready";
    case Readiness::prepared: return "prepared";
    case Readiness::notReady: return "not_ready";
    case Readiness::inaugurated: return "inaugurated";
  }
  return "unknown";
}

std::string_view toString(Preference preference) noexcept {
  switch (preference) {
    case Preference::normal: return "normal";
    case Preference::preferred: return "preferred";
    case Preference::never: return "never";
  }
  return "unknown";
}

std::string toJson(const CandidateRecord& record) {
  Json json = fresh();
  json["id"] = record.id.value;
  put(json, record.process);
  json["version"] = record.version;
  json["status"] = record.status;
  json["since"] = record.since.time_since_epoch().count();
  if (record.started != WallTime{}) json["started"] = record.started.time_since_epoch().count();
  json["preference"] = toString(record.preference);
  if (record.preference == Preference::preferred) json["preferredAfterMs"] = record.preferredAfter.count();
  if (!record.agreement.empty()) json["agreement"] = record.agreement;
  if (record.readiness != Readiness::unknown) json["readiness"] = toString(record.readiness);
  if (record.readiness == Readiness::notReady) json["whyNot"] = record.whyNot.substr(0, longestWhy);
  if (record.readySince != WallTime{}) json["readySince"] = record.readySince.time_since_epoch().count();
  if (record.knowsBaton) json["knowsBaton"] = true;
  if (record.waitsSince != WallTime{}) json["waitsSince"] = record.waitsSince.time_since_epoch().count();
  if (record.rests != WallTime{}) json["rests"] = record.rests.time_since_epoch().count();
  return written(json);
}

CandidateRecord parseCandidateRecord(std::string_view text) {
  const Json json = objectIn(text);
  CandidateRecord record;
  record.id.value = textIn(json, "id");
  record.known = !record.id.value.empty();
  record.process = processIn(json);
  record.version = textIn(json, "version");
  record.status = textIn(json, "status");
  record.since = timeIn(json, "since");
  record.started = timeIn(json, "started");
  record.preference = preferenceIn(json).value_or(Preference::normal);
  record.agreement = agreementIn(json);
  record.readiness = readinessIn(json);
  record.whyNot = textIn(json, "whyNot");
  record.knowsBaton = json.value("knowsBaton", Json()) == true;
  record.readySince = timeIn(json, "readySince");
  record.waitsSince = timeIn(json, "waitsSince");
  record.rests = timeIn(json, "rests");
  if (record.preference != Preference::preferred) return record;
  // Garbage never moves the leadership.
  record.preferredAfter = std::chrono::milliseconds{naturalIn(json, "preferredAfterMs")};
  if (record.preferredAfter == std::chrono::milliseconds{0} || record.preferredAfter > longestPreferredAfter)
    record.preferredAfter = longestPreferredAfter;
  return record;
}

std::string toJson(const MarkerRecord& record) {
  Json json = fresh();
  json["state"] = record.busy ? "busy" : "idle";
  json["token"] = decimal(record.token.value);
  json["candidate"] = record.candidate.value;
  json["id"] = record.id.value;
  put(json, record.holder);
  json["since"] = record.since.time_since_epoch().count();
  put(json, record.asked);
  json["barrierLimitMs"] = record.barrierLimit.count();
  if (record.spawns) json["spawns"] = true;
  if (record.busy && record.nothingRuns) json["nothingRuns"] = true;
  if (record.busy && !record.why.empty()) json["why"] = record.why;
  if (record.fate != HolderFate::untold) json["process"] = record.fate == HolderFate::died ? "died" : "outlived";
  put(json, record.lost);
  return written(json);
}

MarkerRecord parseMarkerRecord(std::string_view text) {
  const Json json = objectIn(text);
  const std::string state = textIn(json, "state");
  if (state != "busy" && state != "idle") return {};

  MarkerRecord record;
  record.known = true;
  record.busy = state == "busy";
  record.token = tokenIn(json, "token");
  record.candidate.value = textIn(json, "candidate");
  record.id.value = textIn(json, "id");
  record.holder = processIn(json);
  record.since = timeIn(json, "since");
  record.asked = askedIn(json);
  // A limit that is absent or out of its range says nothing: only a number of our own schema shortens a barrier.
  const auto limit = json.find("barrierLimitMs");
  if (limit != json.end() && limit->is_number_unsigned() &&
      limit->get<std::uint64_t>() <= static_cast<std::uint64_t>(longestBarrier.count()))
    record.barrierLimit = std::chrono::milliseconds{limit->get<std::int64_t>()};
  // Garbage never shortens a barrier.
  record.spawns = json.contains("spawns");
  record.nothingRuns = record.busy && json.value("nothingRuns", Json()) == true;
  record.why = textIn(json, "why");
  record.fate = fateIn(json);
  record.lost = lostIn(json);
  return record;
}

std::string toJson(const MetaRecord& record) {
  Json json = fresh();
  json["ensemble"] = record.ensemble.value;
  json["generation"] = decimal(record.generation);
  return written(json);
}

std::optional<MetaRecord> parseMetaRecord(std::string_view text) {
  const Json json = objectIn(text);
  MetaRecord record{EnsembleUuid{textIn(json, "ensemble")}, numberIn(json, "generation")};
  if (record.ensemble.value.empty() || record.generation < 1) return std::nullopt;
  return record;
}

std::string toJson(const HandoverRequest& request) {
  Json json = fresh();
  json["term"] = decimal(request.term.value);
  json["by"] = request.by;
  if (request.to) json["to"] = request.to->value;
  json["until"] = request.until.time_since_epoch().count();
  if (request.at != WallTime{}) json["at"] = request.at.time_since_epoch().count();
  return written(json);
}

std::optional<HandoverRequest> parseHandoverRequest(std::string_view text) {
  const Json json = objectIn(text);
  HandoverRequest request;
  request.term = tokenIn(json, "term");
  request.by = textIn(json, "by");
  if (std::string to = textIn(json, "to"); !to.empty()) request.to = CandidateUuid{std::move(to)};
  request.until = timeIn(json, "until");
  request.at = timeIn(json, "at");
  if (request.term.value == 0) return std::nullopt;
  return request;
}

std::string toJson(const BatonRecord& record) {
  Json json = fresh();
  json["state"] = batonStates[static_cast<std::size_t>(record.state)];
  json["term"] = decimal(record.term.value);
  json["znode"] = record.znode;
  json["czxid"] = decimal(record.czxid);
  if (!record.marker.empty()) json["marker"] = record.marker;
  if (record.state == BatonRecord::State::accepted) json["metaVersion"] = record.metaVersion;
  if (!record.whyNot.empty()) json["whyNot"] = record.whyNot.substr(0, longestWhy);
  json["since"] = record.since.time_since_epoch().count();
  put(json, record.asked);
  return written(json);
}

std::optional<BatonRecord> parseBatonRecord(std::string_view text) {
  const Json json = objectIn(text);
  const auto state = std::ranges::find(batonStates, textIn(json, "state"));
  BatonRecord record;
  record.term = tokenIn(json, "term");
  record.znode = textIn(json, "znode");
  record.czxid = numberIn(json, "czxid");
  record.marker = textIn(json, "marker", longestRecord);
  record.whyNot = textIn(json, "whyNot");
  record.since = timeIn(json, "since");
  record.asked = askedIn(json);
  const std::int64_t metaVersion = numberIn(json, "metaVersion");
  if (state == std::end(batonStates) || record.term.value == 0 || record.czxid <= 0 ||
      !std::in_range<std::int32_t>(metaVersion))
    return std::nullopt;
  record.state = static_cast<BatonRecord::State>(state - std::begin(batonStates));
  record.metaVersion = static_cast<std::int32_t>(metaVersion);
  return record;
}

std::string toJson(const Pause& pause) {
  Json json = fresh();
  json["by"] = pause.by;
  json["why"] = pause.why;
  json["since"] = pause.since.time_since_epoch().count();
  if (pause.until != WallTime{}) json["until"] = pause.until.time_since_epoch().count();
  return written(json);
}

std::optional<Pause> parsePause(std::string_view text) {
  const Json json = objectIn(text);
  Pause pause{textIn(json, "by"), textIn(json, "why"), timeIn(json, "since"), timeIn(json, "until")};
  const bool isInRange =
      pause.since > WallTime{} && pause.since <= latest && pause.until >= WallTime{} && pause.until <= latest;
  if (!isInRange) return std::nullopt;
  return pause;
}

std::string toJson(const StuckRecords& records) {
  Json json = fresh();
  json["stops"] = Json::array();
  for (const StuckRecord& each : records)
    json["stops"].push_back({{"term", decimal(each.term.value)},
                             {"message", each.message},
                             {"since", each.since.time_since_epoch().count()}});
  return written(json);
}

StuckRecords parseStuckRecords(std::string_view text) {
  const Json json = objectIn(text);
  const auto stops = json.find("stops");
  if (stops == json.end() || !stops->is_array()) return {};
  StuckRecords records;
  for (const Json& each : *stops) {
    if (!each.is_object()) continue;
    const StuckRecord record{tokenIn(each, "term"), textIn(each, "message"), timeIn(each, "since")};
    if (record.term.value != 0) records.push_back(record);
  }
  return records;
}

// Judges the election's records: may a candidate follow, in what do two replicas differ, may a holder have died, is a
// message to blame for a leader that is stuck?

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
