#include "cli/output/queue_report.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.hpp"
#include "cli/options/options.hpp"
#include "cli/output/state_pages.hpp"
#include "consumer/supply/resequencer.hpp"
#include "consumer/values.hpp"

namespace tenure::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t shownEach = 10;
constexpr std::size_t mostLettersCounted = 10'000;  // where the store has to read each

// --- what is read

/// The queue's consumers: all but those that go by the name of another election. An election that a queue was moved
/// from has no leader on record any more, and its consumer's name may go on.
class Consumers {
 public:
  Consumers(const std::string& election, const std::vector<FenceRow>& fences) {
    for (const FenceRow& fence : fences)
      if (!election.empty() && fence.election.value != election && !fence.candidate.value.empty())
        others_.insert(fence.election.value);
  }
  bool have(const ConsumerName& consumer) const { return !others_.contains(consumer.value); }

 private:
  std::set<std::string> others_;
};

void addInWork(const std::vector<InWorkRecord>& records, const Consumers& consumers, StoreReport& report) {
  for (const InWorkRecord& record : records) {
    if (!consumers.have(record.consumer)) continue;
    report.inWork.insert(report.inWork.end(), record.inWork.ids.begin(), record.inWork.ids.end());
    report.moreInWork = report.moreInWork || record.inWork.more;
  }
}

void addFailing(const std::vector<FailingMessage>& failing, const Consumers& consumers, StoreReport& report) {
  for (const FailingMessage& each : failing) {
    const bool isBlocked = each.attempts.state != AttemptState::retrying;
    if (!consumers.have(each.consumer)) continue;
    if (isBlocked)
      report.blocked.push_back(each);
    else if (each.attempts.postponements.times > 0)
      report.postponed.push_back(each);
    else
      ++report.retrying;
  }
  std::ranges::stable_sort(report.postponed, {},
                           [](const FailingMessage& each) { return each.attempts.postponements.since; });
}

void addKept(const std::vector<ConsumersGroup>& groups, const Consumers& consumers, StoreReport& report) {
  for (const auto& [consumer, group] : groups)
    if (consumers.have(consumer) && !supply::isReady(group))
      report.kept.push_back({consumer, group.group, group.turn.position + 1, group.kept.size(), group.turn.since});
}

Result<void> countDeadLetters(const Backend& backend, IStoreAdmin& store, StoreReport& report) {
  if (backend.isQueue()) {
    const auto admin = backend.queueAdmin();
    const auto stats = admin ? (*admin)->stats() : admin.error();
    if (!stats) return stats.error();
    report.deadLetters = stats->deadLetters.value_or(0);
    return {};
  }
  const auto letters = store.deadLetters(mostLettersCounted);
  if (!letters) return letters.error();
  report.deadLetters = static_cast<std::int64_t>(letters->size());
  report.moreDeadLetters = letters->size() == mostLettersCounted;
  return {};
}

Result<StoreReport> reportOnStore(const Backend& backend, const QueueStats& queue) {
  const auto store = backend.storeAdmin();
  const auto fences = store->fenceRows();
  if (!fences) return fences.error();
  const auto records = store->inWork();
  if (!records) return records.error();
  const auto failing = store->failing();
  if (!failing) return failing.error();
  const auto streaks = store->streaks();
  if (!streaks) return streaks.error();
  const auto groups = store->openGroups();
  if (!groups) return groups.error();
  const Consumers consumers(queue.election, *fences);
  StoreReport report;
  addInWork(*records, consumers, report);
  addFailing(*failing, consumers, report);
  std::ranges::copy_if(*streaks, std::back_inserter(report.stopped),
                       [&](const ConsumerStreak& each) { return hasStopped(each) && consumers.have(each.consumer); });
  addKept(*groups, consumers, report);
  if (const Result<void> counted = countDeadLetters(backend, *store, report); !counted) return counted.error();
  return report;
}

// --- what is shown

std::string orDash(const std::optional<std::int64_t>& count) { return count ? std::to_string(*count) : "-"; }

std::string label(std::string_view text) {
  constexpr std::size_t width = 14;
  return std::string(text) + std::string(width - text.size(), ' ');
}

std::string sinceText(WallTime since, WallTime now) {
  return formatWallTime(since) + " (" + ageText(now - since) + ")";
}

std::string inWorkText(const StoreReport& store) {
  if (store.inWork.empty())
    return store.moreInWork ? "not known: the messages of a batch are not recorded one by one" : "0";
  std::string text = std::to_string(store.inWork.size()) + (store.moreInWork ? " or more: " : ": ");
  for (std::size_t i = 0; i < std::min(store.inWork.size(), shownEach); ++i)
    text += (i == 0 ? "" : ", ") + escaped(store.inWork[i].value);
  return text + (store.inWork.size() > shownEach ? ", …" : "");
}

std::string postponedLine(const FailingMessage& each, WallTime now) {
  const auto& [times, since] = each.attempts.postponements;
  return escaped(each.attempts.id.value) + "  " + std::to_string(times) + " times since " + sinceText(since, now) +
         "  \"" + escaped(each.attempts.lastError) + "\"\n";
}

std::string keptLine(const KeptGroup& each, WallTime now) {
  return "group \"" + escaped(each.group.value) + "\" waits for number " + std::to_string(each.missing) + " since " +
         sinceText(each.since, now) + ": " + std::to_string(each.waiting) +
         (each.waiting == 1 ? " message" : " messages") + " after it\n";
}

template <class T, class Line>
std::string linesOf(const std::vector<T>& all, Line line) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), shownEach); ++i) text += "  " + line(all[i]);
  if (all.size() > shownEach) text += "  … and " + std::to_string(all.size() - shownEach) + " more\n";
  return text;
}

std::size_t messagesOf(const std::vector<KeptGroup>& kept) {
  std::size_t messages = 0;
  for (const KeptGroup& each : kept) messages += each.waiting;
  return messages;
}

std::string storeText(const StoreReport& store, WallTime now) {
  const std::size_t groups = store.kept.size();
  return label("in work") + inWorkText(store) + "\n" + label("retrying") + std::to_string(store.retrying) + "\n" +
         label("postponed") + std::to_string(store.postponed.size()) + "\n" +
         linesOf(store.postponed, [&](const FailingMessage& each) { return postponedLine(each, now); }) +
         label("kept") + std::to_string(messagesOf(store.kept)) +
         (groups == 0 ? "" : " in " + std::to_string(groups) + (groups == 1 ? " group" : " groups")) + "\n" +
         linesOf(store.kept, [&](const KeptGroup& each) { return keptLine(each, now); }) + label("blocked") +
         std::to_string(store.blocked.size()) + "\n" + linesOf(store.blocked, failingLine) + label("stopped") +
         std::to_string(store.stopped.size()) + "\n" + linesOf(store.stopped, stoppedLine) + label("dead letters") +
         std::to_string(store.deadLetters) + (store.moreDeadLetters ? " or more" : "") + "\n";
}

std::string withoutStoreText(const std::string& why) {
  std::string text;
  for (const char* what : {"in work", "retrying", "postponed", "kept", "blocked", "stopped", "dead letters"})
    text += label(what) + "not known: " + why + "\n";
  return text;
}

Json postponedJson(const FailingMessage& each) {
  const Postponements& so = each.attempts.postponements;
  return {{"id", each.attempts.id.value},
          {"consumer", each.consumer.value},
          {"times", so.times},
          {"since", formatWallTime(so.since)},
          {"last_at", formatWallTime(each.attempts.lastAt)},
          {"reason", each.attempts.lastError}};
}

Json keptJson(const KeptGroup& each) {
  return {{"consumer", each.consumer.value},
          {"group", each.group.value},
          {"missing", each.missing},
          {"waiting", each.waiting},
          {"since", formatWallTime(each.since)}};
}

void addStore(const StoreReport& store, Json& out) {
  Json ids = Json::array();
  for (const MessageId& id : store.inWork) ids.push_back(id.value);
  out["in_work"] = {{"ids", ids}, {"more", store.moreInWork}};
  out["retrying"] = store.retrying;
  for (const char* list : {"postponed", "kept", "blocked", "stopped"}) out[list] = Json::array();
  for (const FailingMessage& each : store.postponed) out["postponed"].push_back(postponedJson(each));
  for (const KeptGroup& each : store.kept) out["kept"].push_back(keptJson(each));
  for (const FailingMessage& each : store.blocked) out["blocked"].push_back(Json::parse(failingJson(each)));
  for (const ConsumerStreak& each : store.stopped) out["stopped"].push_back(Json::parse(stoppedJson(each)));
  out["dead_letters"] = store.deadLetters;
}

}  // namespace

std::string scheduledJson(const ScheduledStats& scheduled) {
  Json out{{"waiting", scheduled.waiting}, {"next", nullptr}, {"lateness_ms", nullptr}};
  if (scheduled.next) out["next"] = formatWallTime(*scheduled.next);
  if (scheduled.lateness) out["lateness_ms"] = scheduled.lateness->count();
  out["at_once"] = scheduled.atOnce;
  out["oldest_at_once"] = scheduled.oldestAtOnce ? Json(formatWallTime(*scheduled.oldestAtOnce)) : Json();
  return out.dump();
}

Result<std::optional<ScheduledStats>> scheduledOf(const Backend& queue, bool atAGlance) {
  const auto scheduled = queue.scheduled();
  if (!scheduled && scheduled.error().is(Errc::unsupported)) return std::optional<ScheduledStats>{};
  if (!scheduled) return scheduled.error();
  const auto stats = atAGlance ? (*scheduled)->glance() : (*scheduled)->stats();
  return stats ? Result<std::optional<ScheduledStats>>(*stats) : stats.error();
}

std::string timedText(const ScheduledStats& scheduled, WallTime now) {
  std::string text = std::to_string(scheduled.waiting);
  if (scheduled.next && *scheduled.next <= now)
    text += ", overdue since " + sinceText(*scheduled.next, now);
  else if (scheduled.next)
    text += ", the next at " + formatWallTime(*scheduled.next) + " (in " + ageText(*scheduled.next - now) + ")";
  if (scheduled.lateness) text += "; lately up to " + formatDuration(*scheduled.lateness) + " late";
  return text;
}

std::string sentText(const ScheduledStats& scheduled, WallTime now) {
  std::string text = std::to_string(scheduled.atOnce);
  if (scheduled.oldestAtOnce) text += ", the oldest for " + ageText(now - *scheduled.oldestAtOnce);
  return text;
}

std::string scheduledText(const ScheduledStats& scheduled, WallTime now) {
  const std::string timed = timedText(scheduled, now);
  return scheduled.atOnce > 0 ? timed + "; without a time " + sentText(scheduled, now) : timed;
}

/// Of what other programs have sent: its leader brings it into the queue.
std::string unfetchedText(const ScheduledStats& scheduled) {
  return std::to_string(scheduled.atOnce) + ", not fetched yet\n";
}

Result<Wiring> parseToLook(const QueueOption& queue, const StoreOption& store) {
  if (!store.url.empty()) return WiringOption{queue, store}.parsed(false);
  auto queueEnd = queue.parsed(false);
  if (!queueEnd) return queueEnd.error();
  return Wiring{*std::move(queueEnd), nullptr};
}

namespace {

/// The report on a queue that no election has consumed yet; nullopt where no message waits for it.
std::optional<QueueReport> reportOnUnread(const Backend& queue) {
  const auto scheduled = scheduledOf(queue);
  if (!scheduled || !*scheduled || (*scheduled)->waiting + (*scheduled)->atOnce == 0) return std::nullopt;
  QueueReport report{.queue = {}, .scheduled = *scheduled, .store = std::nullopt};
  report.whyNoStore = "no election has consumed it yet";
  return report;
}

std::string leaderText(const QueueReport& report) {
  if (!report.whyNoLeader.empty()) return label("leader") + "unknown: " + escaped(report.whyNoLeader) + "\n";
  if (!report.leader) return "";
  if (!report.leader->empty()) return label("leader") + escaped(*report.leader) + "\n";
  const std::int64_t waiting = waitingNow(report);
  return label("leader") + "nobody\n" +
         (waiting == 0 ? "" : label("ALARM") + "messages wait, and nobody leads: " + std::to_string(waiting) + "\n");
}

}  // namespace

Result<QueueReport> reportOn(const Wiring& wiring) {
  const auto admin = wiring.queue->queueAdmin();
  auto stats = admin ? (*admin)->stats() : admin.error();
  if (!stats && stats.error().is(Errc::notFound))
    if (auto unread = reportOnUnread(*wiring.queue)) return *std::move(unread);
  if (!stats) return named("--queue", stats.error());
  QueueReport report{.queue = *std::move(stats), .store = std::nullopt, .isOfBroker = !wiring.queue->isStore()};
  const auto scheduled = scheduledOf(*wiring.queue);
  if (!scheduled) return named("--queue", scheduled.error());
  report.scheduled = *scheduled;
  if (!wiring.storeBackend().isStore()) {
    report.whyNoStore = "name the store with --store";
    return report;
  }
  auto store = reportOnStore(wiring.storeBackend(), report.queue);
  if (!store && wiring.store && store.error().is(Errc::notFound)) {
    report.whyNoStore = store.error().detail;
    return report;
  }
  if (!store) return named(wiring.store ? "--store" : "--queue", store.error());
  report.store = *std::move(store);
  // Where acknowledging is part of the commit, what does not wait is not in work.
  if (wiring.isOneDatabase() && report.queue.waiting == 0) report.store->moreInWork = false;
  return report;
}

std::string ageText(std::chrono::milliseconds age) {
  const auto seconds = std::max<std::int64_t>(std::chrono::floor<std::chrono::seconds>(age).count(), 0);
  const auto both = [](std::int64_t whole, const char* unit, std::int64_t rest, const char* restUnit) {
    return std::to_string(whole) + unit + " " + std::to_string(rest) + restUnit;
  };
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3'600) return both(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400) return both(seconds / 3'600, "h", seconds % 3'600 / 60, "m");
  return both(seconds / 86'400, "d", seconds % 86'400 / 3'600, "h");
}

std::int64_t waitingNow(const QueueReport& report) {
  return report.queue.waiting + (report.scheduled ? report.scheduled->atOnce : 0);
}

std::string reportText(const QueueReport& report, WallTime now) {
  const QueueStats& queue = report.queue;
  const std::string oldest = queue.oldest        ? sinceText(*queue.oldest, now)
                             : report.isOfBroker ? "not known: the broker does not tell"
                                                 : "-";
  const char* leftOut = report.isOfBroker ? ", and those that the leader has been handed" : "";
  const std::string count = (queue.waitingIsAtMost ? "at most " : "") + std::to_string(queue.waiting);
  return label("waiting") + count + " (" + orDash(queue.waitingBytes) + " bytes)" + leftOut + "\n" + label("oldest") +
         oldest + "\n" + (report.scheduled ? label("scheduled") + scheduledText(*report.scheduled, now) + "\n" : "") +
         (report.scheduled && report.scheduled->atOnce > 0 ? label("sent") + unfetchedText(*report.scheduled) : "") +
         (report.store ? storeText(*report.store, now) : withoutStoreText(report.whyNoStore)) + label("election") +
         (queue.election.empty() ? "-" : escaped(queue.election)) + "\n" + leaderText(report) +
         (report.pause ? label("PAUSED") + pauseText(*report.pause, report.isAtRest) + "\n" : "");
}

std::string reportJson(const QueueReport& report, WallTime now) {
  const QueueStats& queue = report.queue;
  Json out{{"waiting", queue.waiting}, {"waiting_is_at_most", queue.waitingIsAtMost},
           {"waiting_bytes", nullptr}, {"oldest", nullptr},
           {"oldest_age_ms", nullptr}, {"scheduled", nullptr}};
  if (queue.waitingBytes) out["waiting_bytes"] = *queue.waitingBytes;
  if (queue.oldest) out["oldest"] = formatWallTime(*queue.oldest);
  if (queue.oldest) out["oldest_age_ms"] = (now - *queue.oldest).count();
  if (report.scheduled) out["scheduled"] = Json::parse(scheduledJson(*report.scheduled));
  for (const char* unknown : {"in_work", "retrying", "postponed", "kept", "blocked", "stopped", "dead_letters"})
    out[unknown] = nullptr;
  if (report.store) addStore(*report.store, out);
  out["election"] = queue.election.empty() ? Json() : Json(queue.election);
  if (report.leader) out["leader"] = report.leader->empty() ? Json() : Json(*report.leader);
  if (!report.whyNoLeader.empty()) out["leader_unknown"] = report.whyNoLeader;
  if (report.leader) out["paused"] = report.pause ? Json::parse(pauseJson(*report.pause, report.isAtRest)) : Json();
  if (report.leader) out["unattended"] = report.leader->empty() ? waitingNow(report) : 0;
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenure::cli
