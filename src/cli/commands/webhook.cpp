#include <chrono>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/random.hpp"
#include "base/text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/webhook_options.hpp"
#include "cli/output/queue_report.hpp"
#include "messages/headers.hpp"
#include "webhook/caller.hpp"
#include "webhook/setup.hpp"

namespace tenure::cli {
namespace {

using webhook::Secret;

/// As the user gave them.
struct WebhookToolOptions {
  std::string url;
  std::string secretFile;
  std::string id;
  std::string signatures;
  std::int64_t timestamp = 0;
  bool allowPrivate = false;
  std::string election;
  std::string group;
  std::int64_t token = 0;   // 0: the call has no order
  std::int64_t number = 0;  // 0: the message has none
  std::string order;        // as it was received
};

constexpr const char* webhookHelp =
    R"help(For people who send or receive the calls of `tenure consume --webhook`: new secrets, and signatures
by hand. Signatures are those of Standard Webhooks 1.0 (docs/guides/webhook.md).
)help";

constexpr const char* secretHelp =
    R"help(Prints a new secret, alone on its line: whsec_ and 32 bytes from the kernel, in base64.
With --for it prints the secret of one endpoint instead, as --webhook-from derives it from that of
--secret-file: for the endpoint's owner.
)help";

constexpr const char* signHelp =
    R"help(Reads a body from standard input, and prints the headers of its call; with --election and --token
those of its order, too.
)help";

constexpr const char* verifyHelp =
    R"help(Reads the body of a call from standard input, and says whether one of the secrets made one of the
call's signatures, and with --order whether one made that. Exit code 65: none did. It does not judge
the age of the call. --election and --group are as they were before they were percent-encoded.
)help";

constexpr const char* sendHelp =
    R"help(Calls a URL once, as `tenure consume --webhook` does, with standard input as its body, and prints
what came of it. Exit code 65: the message would be tried again, or be a dead letter.
)help";

constexpr const char* endpointsHelp =
    R"help(Lists the endpoints that fail: since when, how many messages wait for them, how many attempts at the
first of these have failed, how often it was put off without one, and why. It reads the whole queue,
and takes nothing.
Exit code 1: none fails.
)help";

/// An endpoint as its waiting messages show it.
struct EndpointView {
  std::size_t waiting = 0;
  std::optional<AttemptRecord> record{};  // the first message that fails has it
  std::optional<WallTime> since{};
};

struct EndpointsOptions {
  QueueOption queue;
  StoreOption store;
  WebhookOption webhook;
  bool json = false;
};

WallTime sinceOf(const AttemptRecord& record) {
  const bool wasPutOff = record.postponements.times > 0;
  return wasPutOff ? std::min(record.postponements.since, record.firstAt) : record.firstAt;
}

Exit endpoints(const EndpointsOptions& options) {
  const auto wiring = parseToLook(options.queue, options.store);
  if (!wiring) return refuse("", wiring.error());
  const auto admin = wiring->queue->queueAdmin();
  if (!admin) return refuse("--queue", admin.error());
  const auto store = wiring->storeBackend().storeAdmin();
  const auto failing = store->failing();
  if (!failing) return refuse(wiring->store ? "--store" : "--queue", failing.error());
  std::unordered_map<MessageId, const AttemptRecord*> records;
  for (const FailingMessage& each : *failing) records.emplace(each.attempts.id, &each.attempts);
  std::map<std::string, EndpointView> views;
  const auto see = [&](const Message& message) {
    const std::string* url = headerOf(message, options.webhook.from);
    const auto endpoint = url != nullptr ? webhook::parseEndpoint(*url) : Error{Errc::notFound};
    if (!endpoint) return;
    EndpointView& view = views[endpoint->address()];
    ++view.waiting;
    const auto record = records.find(message.id);
    if (record == records.end()) return;
    if (!view.record) view.record = *record->second;
    const WallTime since = sinceOf(*record->second);
    view.since = std::min(view.since.value_or(since), since);
  };
  const Result<void> peeked = (*admin)->peek(std::numeric_limits<std::size_t>::max(), see);
  if (!peeked) return refuse("--queue", peeked.error());
  std::erase_if(views, [](const auto& each) { return !each.second.record; });
  for (const auto& [address, view] : views) {
    if (options.json)
      std::cout << nlohmann::ordered_json{{"endpoint", address},
                                          {"since", formatWallTime(*view.since)},
                                          {"waiting", view.waiting},
                                          {"attempts", view.record->attempts},
                                          {"not_counted", view.record->postponements.times},
                                          {"error", view.record->lastError}}
                       .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                << "\n";
    else
      std::cout << escaped(address) << "  since=" << formatWallTime(*view.since) << "  waiting=" << view.waiting
                << "  attempts=" << view.record->attempts << "  not_counted=" << view.record->postponements.times
                << "  " << escaped(view.record->lastError, 200) << "\n";
  }
  return views.empty() ? Exit::no : Exit::done;
}

std::string bodyFromInput() { return {std::istreambuf_iterator<char>(std::cin), {}}; }

Result<std::vector<Secret>> secretsOf(const std::string& file) {
  const auto lines = secretsIn(file);
  if (!lines) return named("--secret-file", lines.error());
  std::vector<Secret> secrets;
  for (const std::string& line : *lines) {
    auto secret = webhook::parseSecret(line);
    if (!secret) return named("--secret-file", Error{Errc::configurationRefused, secret.error().detail});
    secrets.push_back(*std::move(secret));
  }
  return secrets;
}

std::int64_t secondsNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Exit printSecret(const WebhookToolOptions& options) {
  if (options.url.empty()) {
    std::cout << webhook::textOf(webhook::newSecret()) << "\n";
    return Exit::done;
  }
  if (options.secretFile.empty()) return wrongUsage("--for needs --secret-file, the file of the secret to derive from");
  const auto masters = secretsOf(options.secretFile);
  if (!masters) return refuse("", masters.error());
  const std::string address = webhook::parseEndpoint(options.url)->address();
  for (const Secret& master : *masters) std::cout << webhook::textOf(webhook::secretFor(master, address)) << "\n";
  return Exit::done;
}

Exit sign(const WebhookToolOptions& options) {
  const auto secrets = secretsOf(options.secretFile);
  if (!secrets) return refuse("", secrets.error());
  if (options.election.empty() != (options.token == 0)) return wrongUsage("give --election and --token together");
  if (options.number != 0 && options.group.empty()) return wrongUsage("--number needs --group: it counts in it");
  const std::string body = bodyFromInput();
  const webhook::Signed call{options.id, options.timestamp != 0 ? options.timestamp : secondsNow(), body};
  std::cout << "webhook-id: " << call.id << "\nwebhook-timestamp: " << call.timestamp
            << "\nwebhook-signature: " << webhook::signatureOf(call, *secrets, nullptr) << "\n";
  if (options.token == 0) return Exit::done;
  webhook::Order order{options.election, options.group, options.token};
  if (options.number != 0) order.number = options.number;
  for (const std::string& header : webhook::orderHeadersOf(call, order, *secrets)) std::cout << header << "\n";
  return Exit::done;
}

Exit verify(const WebhookToolOptions& options) {
  const auto secrets = secretsOf(options.secretFile);
  if (!secrets) return refuse("", secrets.error());
  const std::string body = bodyFromInput();
  const webhook::Signed call{options.id, options.timestamp, body};
  const auto tell = [](const char* what, bool isSound) {
    std::cout << what << (isSound ? "signed by a secret of the file\n" : "not signed by a secret of the file\n");
    return isSound;
  };
  bool isSound = tell("", webhook::isSignedBy(call, options.signatures, *secrets));
  if (!options.order.empty()) {
    auto order = webhook::parseOrder(options.order);
    if (!order) return refuse("--order", Error{Errc::invalidArgument, "expected v1,TOKEN,NUMBER,MAC"});
    order->election = options.election;
    order->group = options.group;
    isSound = tell("order: ", webhook::isOrderBy(call, *order, options.order, *secrets)) && isSound;
  }
  return isSound ? Exit::done : Exit::badInput;
}

std::string shown(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::done: return "done";
    case Outcome::Kind::reject: return "a dead letter at once: " + printable(outcome.reason);
    case Outcome::Kind::retryLater: return "again later, not counted: " + printable(outcome.reason);
    default: return "a failed attempt: " + printable(outcome.reason);
  }
}

Exit send(const WebhookToolOptions& options) {
  WebhookOption given;
  given.url = options.url;
  given.allowPrivate = options.allowPrivate;
  given.secretFile = options.secretFile;
  auto parsed = given.parsed("by-hand", {});
  if (!parsed) return refuse("", parsed.error());
  auto setup = webhook::checked(*std::move(parsed));
  if (!setup) return refuse("URL", setup.error());
  Message message;
  message.id = MessageId{freshUuid()};
  message.body = bodyFromInput();
  const webhook::Response response = webhook::callOnce(**setup, message);
  const Outcome outcome = webhook::judge(response, std::nullopt, (*setup)->patience());
  if (response.end == webhook::Response::End::answered) std::cout << "status " << response.status << "\n";
  std::cout << shown(outcome) << "\n";
  return outcome.kind == Outcome::Kind::done ? Exit::done : Exit::badInput;
}

Value urlOf(WebhookToolOptions& options) {
  return parsed("URL", "an http or https URL", [&options](const std::string& given) {
    options.url = given;
    return webhook::parseEndpoint(given).has_value();
  });
}

Option secretFileRow(WebhookToolOptions& options, bool required) {
  return {"--secret-file",
          text(options.secretFile, "FILE"),
          "The file with the secret, or two of them, one a line",
          {.required = required, .momentary = true}};
}

Option idRow(WebhookToolOptions& options) {
  return {"--id", filled(options.id, "ID", "an id"), "The call's webhook-id", {.required = true, .momentary = true}};
}

Option electionRow(WebhookToolOptions& options) {
  return {"--election", filled(options.election, "NAME", "a name"), "The election's name", {.momentary = true}};
}

Option groupRow(WebhookToolOptions& options) {
  return {"--group", text(options.group, "GROUP"), "The message's group", {.momentary = true}};
}

Option timestampRow(WebhookToolOptions& options, bool required) {
  return {"--timestamp",
          count(options.timestamp, Range<std::int64_t>{1, 253'402'300'799}),
          required ? "The call's webhook-timestamp" : "The call's webhook-timestamp; now without it",
          {.required = required, .momentary = true}};
}

Options signRows(WebhookToolOptions& options) {
  return {secretFileRow(options, true),
          idRow(options),
          timestampRow(options, false),
          electionRow(options),
          {"--token",
           count(options.token, Range<std::int64_t>{1, std::numeric_limits<std::int64_t>::max()}),
           "The leader's fencing token",
           {.momentary = true}},
          groupRow(options),
          {"--number",
           count(options.number, Range<std::int64_t>{1, 1'000'000'000'000'000}),
           "The message's number in its group",
           {.momentary = true}}};
}

Options verifyRows(WebhookToolOptions& options) {
  const auto withoutOrder = [&options] { return options.order.empty(); };
  Option election = electionRow(options);
  Option group = groupRow(options);
  for (Option* row : {&election, &group}) row->ties.idle = {{"without --order", withoutOrder}};
  return {
      secretFileRow(options, true),
      idRow(options),
      timestampRow(options, true),
      {"--signature",
       filled(options.signatures, "TEXT", "a signature"),
       "The call's webhook-signature",
       {.required = true, .momentary = true}},
      {"--order", filled(options.order, "TEXT", "v1,TOKEN,NUMBER,MAC"), "The call's tenure-order", {.momentary = true}},
      election,
      group};
}

}  // namespace

std::vector<Command> webhookCommands() {
  auto options = std::make_shared<WebhookToolOptions>();
  auto looked = std::make_shared<EndpointsOptions>();
  return {
      {.name = "webhook",
       .about = "Secrets and signatures of the URLs that are called",
       .help = webhookHelp,
       .examples = "tenure webhook secret >/etc/tenure/webhook.secret"},
      {.name = "webhook secret",
       .about = "Print a new secret, or that of one endpoint",
       .groups = {{"Options",
                   {{"--for", urlOf(*options), "The endpoint whose secret is derived", {.momentary = true}},
                    secretFileRow(*options, false)}}},
       .help = secretHelp,
       .examples = "tenure webhook secret >/etc/tenure/webhook.secret\n"
                   "tenure webhook secret --for https://example.org/hook --secret-file /etc/tenure/webhook.secret",
       .act = [options] { return printSecret(*options); }},
      {.name = "webhook sign",
       .about = "Print the headers that sign a body",
       .groups = {{"Options", signRows(*options)}},
       .help = signHelp,
       .examples = "tenure webhook sign --secret-file webhook.secret --id orders:42 <body.json",
       .act = [options] { return sign(*options); }},
      {.name = "webhook verify",
       .about = "Say whether a signature is by a secret",
       .groups = {{"Options", verifyRows(*options)}},
       .help = verifyHelp,
       .examples = "tenure webhook verify --secret-file webhook.secret --id orders:42 --timestamp 1764547200 \\\n"
                   "  --signature v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4= <body.json",
       .act = [options] { return verify(*options); }},
      {.name = "webhook send",
       .about = "Call a URL once",
       .groups = {{"Options",
                   {{"URL", urlOf(*options), "The URL that is called", {.required = true}},
                    secretFileRow(*options, false),
                    {"--allow-private",
                     flag(options->allowPrivate),
                     "Call addresses that are not global, too",
                     {.momentary = true}}}}},
       .help = sendHelp,
       .examples = "echo '{\"order\":42}' | tenure webhook send https://example.org/hook --secret-file webhook.secret",
       .act = [options] { return send(*options); }},
      {.name = "webhook endpoints",
       .about = "List the endpoints that fail",
       .groups = {{"Options",
                   {looked->queue.row(), looked->store.rowBesideQueue(), looked->webhook.fromRow(),
                    jsonRow(looked->json, "a line")}}},
       .help = endpointsHelp,
       .examples = "tenure webhook endpoints --queue 'sqlite:calls.db?queue=calls' --webhook-from header:notify",
       .act = [looked] { return endpoints(*looked); },
       .hasUrls = true}};
}

}  // namespace tenure::cli
