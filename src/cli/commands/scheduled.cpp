#include <iostream>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/input/time_options.hpp"
#include "cli/options/options.hpp"
#include "cli/options/wiring_options.hpp"
#include "cli/output/content_page.hpp"
#include "cli/output/queue_report.hpp"

namespace tenure::cli {
namespace {

struct Which {
  std::vector<std::string> ids;
  std::optional<std::string> group;  // the empty one is a group
  std::optional<WallTime> dueBefore;

  Options rows();
  Option idRow(std::string help, bool isOne);
  bool isEmpty() const { return ids.empty() && !group && !dueBefore; }
  ScheduledFilter filter() const;
};

struct ListOptions {
  QueueOption queue;
  Which which;
  std::size_t limit = 1000;
  bool all = false;
  bool json = false;
};

struct AddOptions {
  QueueOption queue;
  std::string id;
  std::string group;
  std::string body;
  bool numbered = false;
  TimeOptions time;
};

struct ChangeOptions {
  QueueOption queue;
  Which which;
  TimeOptions time;
};

constexpr const char* scheduledHelp =
    R"help(A message that was sent with a time waits beside its queue, and comes to the queue's end then. Until
that moment it can be cancelled or get another time.
)help";

constexpr const char* scheduledExamples =
    R"help(tenure scheduled add o-1-timeout --body o-1 --delay 30m --queue sqlite:work.db
tenure scheduled list --queue sqlite:work.db
tenure scheduled reschedule o-1-timeout --delay 1h --queue sqlite:work.db
tenure scheduled cancel o-1-timeout --queue sqlite:work.db)help";

constexpr const char* listHelp =
    R"help(In the order in which they come to the queue: time, how long until then, id, group, size and the
beginning of the body; with --json all of it. Exit code 1: none waits.
)help";

constexpr const char* listExamples = R"help(tenure scheduled list --queue sqlite:work.db
tenure scheduled list --group o-1 --queue sqlite:work.db --json | jq -r .id)help";

constexpr const char* showHelp =
    R"help(Time, group, headers and body. A body that is no UTF-8 is shown as a hexadecimal dump of its first
KiB; with --json it is null, and body_base64 has all of it. Exit code 1: no such message waits.
)help";

constexpr const char* showExamples = R"help(tenure scheduled show o-1-timeout --queue sqlite:work.db
tenure scheduled show o-1-timeout --queue sqlite:work.db --json | jq -r .deliver_at)help";

constexpr const char* addHelp =
    R"help(One message; `tenure produce` sends many. The very same message again changes nothing. Exit code 65:
one of that id waits already with another time or content (--replace takes its place), or has come
to its queue before.
)help";

constexpr const char* addExamples =
    R"help(tenure scheduled add o-1-timeout --body o-1 --delay 30m --queue sqlite:work.db
tenure scheduled add report --body '{}' --at 2030-01-01T06:00:00+01:00 --queue sqlite:work.db)help";

constexpr const char* cancelHelp =
    R"help(Each message is told on a line of its own: cancelled; fired, when it had come to its queue before;
unknown, when none waits under that id. Exit code 1: one of them was fired or unknown, or none was
chosen.
)help";

constexpr const char* cancelExamples = R"help(tenure scheduled cancel o-1-timeout o-2-timeout --queue sqlite:work.db
tenure scheduled cancel --group o-1 --queue sqlite:work.db)help";

constexpr const char* rescheduleHelp =
    R"help(Each message is told on a line of its own: rescheduled; fired, when it had come to its queue before;
unknown, when none waits under that id. Exit code 1: one of them was fired or unknown, or none was
chosen.
)help";

constexpr const char* rescheduleExamples =
    R"help(tenure scheduled reschedule o-1-timeout --delay 1h --queue sqlite:work.db
tenure scheduled reschedule --due-before 2030-01-01T00:00Z --at 2030-01-01T06:00Z \
  --queue sqlite:work.db)help";

constexpr const char* runNowHelp =
    R"help(They come to the queue at once, behind all that is due already. Each message is told on a line of
its own: due; fired, when it had come to its queue before; unknown, when none waits under that id.
Exit code 1: one of them was fired or unknown, or none was chosen.
)help";

constexpr const char* runNowExamples = R"help(tenure scheduled run-now o-1-timeout --queue sqlite:work.db)help";

Options Which::rows() {
  const auto takeTime = [this](const std::string& text) {
    const auto at = parseWallTime(text);
    if (at) dueBefore = *at;
    return at.has_value();
  };
  return {groupRow(group),
          {"--due-before",
           parsed("TIME", "a time with its offset, as 2026-05-04T09:12:33Z", takeTime),
           "Only those whose time is earlier, in RFC 3339",
           {.momentary = true}}};
}

Option Which::idRow(std::string help, bool isOne) {
  const auto take = [this](const std::string& word) {
    if (!parseMessageId(word)) return false;
    ids.push_back(word);
    return true;
  };
  Option made{"id", parsed("ID", expectedBy(parseMessageId("").error()), take), std::move(help), {.required = isOne}};
  made.value.repeats = !isOne;
  return made;
}

ScheduledFilter Which::filter() const {
  ScheduledFilter filter{.dueBefore = dueBefore};
  if (group) filter.group = GroupId{*group};
  return filter;
}

using Scheduled = std::unique_ptr<ScheduledMessages>;

Result<Scheduled> scheduledOf(const QueueOption& option) {
  const auto queue = option.parsed(false);
  if (!queue) return queue.error();
  auto scheduled = (*queue)->scheduled();
  if (!scheduled) return named("--queue", scheduled.error());
  return scheduled;
}

std::string jsonOf(const NewMessage& message) {
  nlohmann::ordered_json out{{"id", message.id.value},
                             {"group", message.group.value},
                             {"deliver_at", nullptr},
                             {"bytes", message.body.size()}};
  if (message.deliverAt) out["deliver_at"] = formatWallTime(*message.deliverAt);
  out.update(nlohmann::ordered_json::parse(contentJson(message)));
  return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// A message without a time comes at once.
std::string timeText(const NewMessage& message) {
  return message.deliverAt ? formatWallTime(*message.deliverAt) : "at once";
}

std::string untilText(const NewMessage& message, WallTime now) {
  return message.deliverAt > now ? "in " + ageText(*message.deliverAt - now) : "due";
}

std::string lineOf(const NewMessage& message, WallTime now) {
  constexpr std::size_t shownBytes = 60;
  return timeText(message) + "  " + untilText(message, now) + "  " + escaped(message.id.value) +
         (message.group.value.empty() ? "" : "  group=" + escaped(message.group.value)) +
         "  bytes=" + std::to_string(message.body.size()) + "  \"" + escaped(message.body, shownBytes) + "\"\n";
}

std::string pageOf(const NewMessage& message, WallTime now) {
  return "id        " + escaped(message.id.value) + "\ngroup     " + escaped(message.group.value) + "\ntime      " +
         timeText(message) + " (" + untilText(message, now) + ")\n" + contentPage(message);
}

Exit list(const ListOptions& options) {
  const auto scheduled = scheduledOf(options.queue);
  if (!scheduled) return refuse("", scheduled.error());
  const WallTime now = systemClock().wallNow();
  std::size_t found = 0;
  const auto show = [&](const NewMessage& message) {
    if (++found <= options.limit || options.all) std::cout << (options.json ? jsonOf(message) : lineOf(message, now));
    return std::cout.good();
  };
  const Result<void> listed = (*scheduled)->list(options.which.filter(), show);
  std::cout << std::flush;
  if (!listed) return refuse("--queue", listed.error());
  if (found > options.limit && !options.all)
    complain("these are the next " + std::to_string(options.limit) + " of " + std::to_string(found) +
             " messages: --all shows all");
  return found == 0 ? Exit::no : Exit::done;
}

Exit show(const ListOptions& options) {
  const auto scheduled = scheduledOf(options.queue);
  if (!scheduled) return refuse("", scheduled.error());
  const auto message = (*scheduled)->find(MessageId{options.which.ids.front()});
  if (!message) return refuse("--queue", message.error());
  if (!*message) {
    complain("no message \"" + escaped(options.which.ids.front()) + "\" waits for its time");
    return Exit::no;
  }
  std::cout << (options.json ? jsonOf(**message) : pageOf(**message, systemClock().wallNow())) << std::flush;
  return Exit::done;
}

Exit add(const AddOptions& options) {
  const Result<std::optional<WallTime>> at = options.time.timing.from(systemClock().wallNow());
  if (!at) return refuse("--delay", at.error());
  if (!*at) return wrongUsage("say when: --delay or --at");
  const auto queue = options.queue.parsed(true);
  if (!queue) return refuse("", queue.error());
  if (options.numbered)
    if (const auto numbers = (*queue)->numberMessages(); !numbers) return refuse("--numbered", numbers.error());
  const auto sink = (*queue)->sink();
  if (!sink) return refuse("--queue", sink.error());
  const NewMessage message{.id = MessageId{options.id},
                           .group = GroupId{options.group},
                           .body = options.body,
                           .headers = {},
                           .deliverAt = *at,
                           .replacesScheduled = options.time.timing.replaces};
  const Result<void> added = (*sink)->append({&message, 1});
  if (!added && isOfMessage(added.error())) return complain(added.error().message()), Exit::badInput;
  if (!added) return refuse("--queue", added.error());
  std::cout << escaped(options.id) << ((*sink)->leftOut() > 0 ? " was scheduled before, for " : " scheduled for ")
            << formatWallTime(**at) << std::endl;
  return Exit::done;
}

using Change = std::function<Result<ScheduleChange>(ScheduledMessages& scheduled, const MessageId& id)>;

/// The ids of all chosen messages, before any is changed: a message with a new time would be listed a second time.
Result<std::vector<std::string>> chosen(ScheduledMessages& scheduled, const Which& which) {
  std::vector<std::string> ids = which.ids;
  if (!ids.empty()) return ids;
  const Result<void> listed = scheduled.list(which.filter(), [&](const NewMessage& message) {
    ids.push_back(message.id.value);
    return true;
  });
  return listed ? Result<std::vector<std::string>>(std::move(ids)) : listed.error();
}

Exit change(const ChangeOptions& options, const Change& apply, const char* done) {
  if (options.which.isEmpty()) return wrongUsage("say which: ids of messages, --group, or --due-before");
  if (!options.which.ids.empty() && (options.which.group || options.which.dueBefore))
    return wrongUsage("ids of messages do not go together with --group or --due-before");
  const auto scheduled = scheduledOf(options.queue);
  if (!scheduled) return refuse("", scheduled.error());
  const auto ids = chosen(**scheduled, options.which);
  if (!ids) return refuse("--queue", ids.error());
  bool allDone = !ids->empty();
  for (const std::string& id : *ids) {
    const Result<ScheduleChange> changed = apply(**scheduled, MessageId{id});
    if (!changed) return refuse("--queue", changed.error());
    const bool isDone = *changed == ScheduleChange::done;
    allDone = allDone && isDone;
    std::cout << escaped(id) << ' '
              << (isDone                              ? done
                  : *changed == ScheduleChange::fired ? "fired"
                                                      : "unknown")
              << std::endl;
  }
  return allDone ? Exit::done : Exit::no;
}

Exit reschedule(const ChangeOptions& options) {
  const Result<std::optional<WallTime>> at = options.time.timing.from(systemClock().wallNow());
  if (!at) return refuse("--delay", at.error());
  if (!*at) return wrongUsage("say when: --delay or --at");
  const auto apply = [at = **at](ScheduledMessages& scheduled, const MessageId& id) {
    return scheduled.reschedule(id, at);
  };
  return change(options, apply, "rescheduled");
}

Command listCommand() {
  auto options = std::make_shared<ListOptions>();
  return {.name = "scheduled list",
          .about = "Show messages that wait for their time, the next ones first",
          .groups = {{"Options", joined({options->queue.row()}, options->which.rows(),
                                        {limitRow(options->limit, "of messages"),
                                         {"--all", flag(options->all), "All of them", {.momentary = true}},
                                         jsonRow(options->json, "a line")})}},
          .help = listHelp,
          .examples = listExamples,
          .act = [options] { return list(*options); },
          .hasUrls = true};
}

Command showCommand() {
  auto options = std::make_shared<ListOptions>();
  return {.name = "scheduled show",
          .about = "Show one message that waits for its time",
          .groups = {{"Options",
                      {options->which.idRow("Of the message", true), options->queue.row(), jsonRow(options->json)}}},
          .help = showHelp,
          .examples = showExamples,
          .act = [options] { return show(*options); },
          .hasUrls = true};
}

Command addCommand() {
  auto options = std::make_shared<AddOptions>();
  return {.name = "scheduled add",
          .about = "Send a message that comes to its queue later",
          .groups = {{"Options",
                      joined({{"id", valid(options->id, "ID", parseMessageId), "Of the message", {.required = true}},
                              options->queue.row(),
                              {"--body", text(options->body, "TEXT"), "What it says", {.momentary = true}},
                              {"--group", text(options->group, "GROUP"), "Its ordering key", {.momentary = true}},
                              {"--numbered",
                               flag(options->numbered),
                               "It gets its number within its group when it comes to the queue",
                               {.momentary = true}}},
                             options->time.rows(), {options->time.replaceRow()})}},
          .help = addHelp,
          .examples = addExamples,
          .act = [options] { return add(*options); },
          .hasUrls = true};
}

/// A command that changes what it is told of.
Command changeCommand(Command page, std::function<Exit(const ChangeOptions&)> act, bool hasTime) {
  auto options = std::make_shared<ChangeOptions>();
  page.groups = {{"Queue", {options->queue.row()}},
                 {"Which", joined({options->which.idRow("Of the messages", false)}, options->which.rows())}};
  if (hasTime) page.groups.push_back({"Time", options->time.rows()});
  page.act = [options, act = std::move(act)] { return act(*options); };
  page.hasUrls = true;
  return page;
}

Command cancelCommand() {
  const auto apply = [](ScheduledMessages& scheduled, const MessageId& id) { return scheduled.cancel(id); };
  return changeCommand(
      {.name = "scheduled cancel",
       .about = "Take back messages that wait for their time",
       .help = cancelHelp,
       .examples = cancelExamples},
      [apply](const ChangeOptions& options) { return change(options, apply, "cancelled"); }, false);
}

Command rescheduleCommand() {
  return changeCommand({.name = "scheduled reschedule",
                        .about = "Give messages that wait another time",
                        .help = rescheduleHelp,
                        .examples = rescheduleExamples},
                       reschedule, true);
}

Command runNowCommand() {
  const auto apply = [](ScheduledMessages& scheduled, const MessageId& id) { return scheduled.runNow(id); };
  return changeCommand(
      {.name = "scheduled run-now",
       .about = "Bring messages that wait to their queue at once",
       .help = runNowHelp,
       .examples = runNowExamples},
      [apply](const ChangeOptions& options) { return change(options, apply, "due"); }, false);
}

}  // namespace

std::vector<Command> scheduledCommands() {
  return {{.name = "scheduled",
           .about = "Messages that wait for their time: list, show, add, cancel, reschedule, run-now",
           .help = scheduledHelp,
           .examples = scheduledExamples},
          listCommand(),
          showCommand(),
          addCommand(),
          cancelCommand(),
          rescheduleCommand(),
          runNowCommand()};
}

}  // namespace tenure::cli
