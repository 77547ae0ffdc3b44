#include "webhook/caller.hpp"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "messages/headers.hpp"
#include "tenure/version.hpp"
#include "webhook/address.hpp"
#include "webhook/grouped.hpp"

namespace tenure::webhook {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t longestReason = 4096;
/// Nothing more of an answer is read.
constexpr std::size_t longestAnswer = std::size_t{64} * 1024;
constexpr curl_off_t longestRetryAfter = 30 * 86'400;  // seconds
/// Between two looks at the calls that are made; after a longer time their limits begin anew.
constexpr Duration longestLook = 500ms;
constexpr std::chrono::milliseconds longestConnect{10'000};
/// How often the lease is looked at while a call waits for it.
constexpr Duration leaseLook = 20ms;

void beginCurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

/// Handles for calls, kept from one to the next.
class Handles {
 public:
  Handles() = default;
  ~Handles() { std::ranges::for_each(idle_, curl_easy_cleanup); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  CURL* take() {
    if (idle_.empty()) return curl_easy_init();
    CURL* const handle = idle_.back();
    idle_.pop_back();
    return handle;
  }
  void giveBack(CURL* handle) {
    curl_easy_reset(handle);
    idle_.push_back(handle);
  }

 private:
  std::vector<CURL*> idle_;
};

/// One call, from its start to its end.
class Call {
 public:
  Call(const Setup& setup, Handles& handles, Given given, Endpoint endpoint)
      : setup_(setup),
        handles_(handles),
        given_(std::move(given)),
        endpoint_(std::move(endpoint)),
        easy_(handles.take()) {}
  ~Call() {
    handles_.giveBack(easy_);
    curl_slist_free_all(headers_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  CURL* handle() const noexcept { return easy_; }
  const Given& given() const noexcept { return given_; }
  const Endpoint& endpoint() const noexcept { return endpoint_; }
  void prepare(const std::vector<std::string>& headers);
  Response ended(CURLcode code) const;
  /// Of one without an answer in time.
  Response late() const;
  bool isLate(BootTime now) const noexcept { return now - began_ >= setup_.options.timeout; }
  /// Nothing was read for a while: neither the endpoint nor the network is to blame.
  void beginAnew(BootTime now) noexcept {
    began_ = now;
    wasHeldUp_ = true;
  }

 private:
  static std::size_t write(char* bytes, std::size_t, std::size_t count, void* call);
  static curl_socket_t open(void* call, curlsocktype purpose, curl_sockaddr* address);
  Response failed(CURLcode code) const;
  bool isConnected() const;

  const Setup& setup_;
  Handles& handles_;
  const Given given_;
  const Endpoint endpoint_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  std::string answer_;
  std::size_t read_ = 0;
  bool wasRefused_ = false;  // an address that is not global
  BootTime began_ = BootClock::now();
  bool wasHeldUp_ = false;
};

void Call::prepare(const std::vector<std::string>& headers) {
  const WebhookOptions& options = setup_.options;
  const auto set = [this](auto option, auto value) { curl_easy_setopt(easy_, option, value); };
  for (const std::string& header : headers) headers_ = curl_slist_append(headers_, header.c_str());
  headers_ = curl_slist_append(headers_, "Expect:");
  set(CURLOPT_URL, endpoint_.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_POST, 1L);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(given_.message->body.size()));
  set(CURLOPT_POSTFIELDS, given_.message->body.data());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_USERAGENT, "tenure/" TENURE_VERSION);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_PROXY, options.proxy.c_str());  // "": not even one of the environment,
  set(CURLOPT_NOPROXY, "");                   // which takes no call away from this one either
  set(CURLOPT_QUICK_EXIT, 1L);                // a resolver that does not answer is not waited for
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(options.timeout, longestConnect).count()));
  if (!options.certificates.empty()) {
    set(CURLOPT_CAINFO, options.certificates.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // in place of the system's, and not beside them
  }
  set(CURLOPT_WRITEFUNCTION, &Call::write);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &Call::open);
  set(CURLOPT_OPENSOCKETDATA, this);
  set(CURLOPT_PRIVATE, this);
}

std::size_t Call::write(char* bytes, std::size_t, std::size_t count, void* of) {
  auto& call = *static_cast<Call*>(of);
  const std::size_t room = longestReason - std::min(longestReason, call.answer_.size());
  call.answer_.append(bytes, std::min(room, count));
  call.read_ += count;
  return call.read_ > longestAnswer ? 0 : count;
}

/// A proxy's address is the operator's choice; what it connects to is for the proxy to refuse.
curl_socket_t Call::open(void* of, curlsocktype, curl_sockaddr* address) {
  auto& call = *static_cast<Call*>(of);
  const WebhookOptions& options = call.setup_.options;
  if (!options.allowPrivate && options.proxy.empty() && !isGlobal(address->addr)) {
    call.wasRefused_ = true;
    return CURL_SOCKET_BAD;
  }
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

Response Call::ended(CURLcode code) const {
  const bool isCutByUs = code == CURLE_WRITE_ERROR && read_ > longestAnswer;
  if (code != CURLE_OK && !isCutByUs) return failed(code);
  Response response{.body = answer_};
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response.status);
  curl_header* header = nullptr;
  if (curl_easy_header(easy_, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK) return response;
  curl_off_t wait = 0;
  curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &wait);
  response.retryAfter = std::chrono::seconds{std::clamp<curl_off_t>(wait, 0, longestRetryAfter)};
  return response;
}

bool Call::isConnected() const {
  curl_off_t at = 0;
  curl_easy_getinfo(easy_, CURLINFO_PRETRANSFER_TIME_T, &at);
  return at > 0;
}

Response Call::late() const {
  using End = Response::End;
  if (isConnected())
    return {.end = End::broken,
            .why = "no whole answer within " + std::to_string(setup_.options.timeout.count()) + " ms"};
  return {.end = wasHeldUp_ ? End::heldUp : End::away, .why = "not connected in time"};
}

/// The text of the library names no URL.
Response Call::failed(CURLcode code) const {
  using End = Response::End;
  if (wasRefused_ && !isConnected())
    return {.end = End::broken, .why = "its address is not global, and may not be called"};
  Response response{.end = End::broken, .why = curl_easy_strerror(code)};
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: response.end = End::away; break;
    case CURLE_OPERATION_TIMEDOUT: return late();
    default: break;
  }
  return response;
}

std::string contentTypeOf(const Message& message) {
  constexpr auto isVisible = [](char c) { return c >= ' ' && c < 127; };
  const std::string* own = headerOf(message, "content-type");
  if (own != nullptr && !own->empty() && std::ranges::all_of(*own, isVisible)) return *own;
  return nlohmann::json::accept(message.body) ? "application/json" : "application/octet-stream";
}

std::optional<std::int64_t> numberOf(const Message& message) {
  const std::string* text = headerOf(message, numberHeader);
  return text == nullptr || message.group.value.empty() ? std::nullopt : parseInteger(*text);
}

std::vector<std::string> headersOf(const Setup& setup, const Message& message, std::span<const Secret> secrets,
                                   const Order& at) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Signed call{.id = webhookId(setup.options.queue, message.id.value),
                    .timestamp = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                    .body = message.body};
  std::vector<std::string> headers{"Content-Type: " + contentTypeOf(message), "webhook-id: " + call.id,
                                   "webhook-timestamp: " + std::to_string(call.timestamp)};
  const std::string signature = signatureOf(call, secrets, setup.key ? &*setup.key : nullptr);
  if (!signature.empty()) headers.push_back("webhook-signature: " + signature);
  headers.push_back("tenure-election: " + percentEncoded(at.election));
  if (!at.group.empty()) headers.push_back("tenure-group: " + percentEncoded(at.group));
  if (!secrets.empty()) headers.push_back("tenure-order: " + orderOf(call, at, secrets.front()));
  return headers;
}

class Caller final : public IAnswerer {
 public:
  using Tell = std::function<void(EventBody, FencingToken)>;

  Caller(const Setup& setup, std::size_t lane, Tell tell)
      : setup_(setup), ahead_(lane == 0 ? 1 : setup.options.ahead), tell_(std::move(tell)), multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(4 * ahead_));
  }
  ~Caller() override {
    drop();
    curl_multi_cleanup(multi_);
  }

  void attend(const Term& term) override {
    leave();
    term_.emplace(term);
  }
  void leave() noexcept override {
    drop();
    replies_.clear();
  }
  std::size_t ahead() override { return ahead_; }
  std::optional<BootTime> awaySince() override { return std::nullopt; }
  bool answersInOrder() const noexcept override { return false; }
  void give(const Given& given) override { waiting_.push_back(given); }
  void tell(Giving, const StateValues&) override {}
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override;
  void cut() override { lose("cut, as its leader was asked to leave"); }

 private:
  void beginCalls();
  void begin(Given given);
  void collect();
  void endLate(BootTime now);
  /// Calls have limits of their own, which are no events.
  Duration mostPoll() const { return calls_.empty() ? Duration{1s} : std::min<Duration>(setup_.options.timeout, 50ms); }
  void end(Call& call, const Response& response);
  void answer(const Given& given, Outcome outcome) {
    replies_.emplace_back(Answered{given.ticket, {std::move(outcome)}});
  }
  std::optional<std::chrono::milliseconds> waitOf(const Given& given) const;
  void lose(const std::string& why);
  void drop() noexcept;
  /// Looked at right before each call: a leader that stood still begins none.
  bool mayCall() const { return term_->mayBeginWork(); }

  const Setup& setup_;
  const std::size_t ahead_;
  const Tell tell_;
  CURLM* const multi_;
  Handles handles_;
  std::optional<Term> term_;
  std::deque<Given> waiting_;  // their calls have not begun
  std::unordered_map<CURL*, std::unique_ptr<Call>> calls_;
  std::vector<Reply> replies_;
  BootTime lastLook_{};
};

std::vector<Reply> Caller::await(BootTime until, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
  if (const BootTime now = BootClock::now(); now - lastLook_ > longestLook)
    for (const auto& [handle, call] : calls_) call->beginAnew(now);
  for (;;) {
    if (!term_->valid() && !calls_.empty()) lose("cut, as its leader's lease is over");
    beginCalls();
    int running = 0;
    curl_multi_perform(multi_, &running);
    collect();
    const BootTime now = lastLook_ = BootClock::now();
    endLate(now);
    if (!replies_.empty() || stop.stop_requested() || now >= until) return std::exchange(replies_, {});
    const Duration wait = std::min(until - now, waiting_.empty() ? mostPoll() : leaseLook);
    curl_multi_poll(multi_, nullptr, 0, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wait).count()),
                    nullptr);
  }
}

void Caller::beginCalls() {
  while (!waiting_.empty() && mayCall()) {
    Given next = std::move(waiting_.front());
    waiting_.pop_front();
    begin(std::move(next));
  }
}

void Caller::begin(Given given) {
  Result<Endpoint> endpoint = setup_.endpointOf(*given.message);
  if (!endpoint) return answer(given, Outcome::reject(endpoint.error().detail));
  const auto secrets = setup_.secretsOf(*endpoint);
  if (!secrets) return answer(given, Outcome::failed(secrets.error().detail));
  const Message& message = *given.message;
  const bool hasOwnGroup = message.group != groupOf(*endpoint);
  const Order at{term_->identity().election.value, hasOwnGroup ? message.group.value : "", term_->token().value,
                 numberOf(message)};
  const std::vector<std::string> headers = headersOf(setup_, message, *secrets, at);
  auto call = std::make_unique<Call>(setup_, handles_, given, *endpoint);
  const auto waits = waitOf(given);
  const bool isPatient = !waits || *waits < setup_.options.outage;
  if (const auto wait = setup_.breaker.mayCall(endpoint->origin(), BootClock::now()); wait && isPatient)
    return answer(given, Outcome::retryLater("its host cannot be reached, and is not called until it can",
                                             std::chrono::ceil<std::chrono::milliseconds>(*wait)));
  call->prepare(headers);
  CURL* const handle = call->handle();
  curl_multi_add_handle(multi_, handle);
  calls_.emplace(handle, std::move(call));
}

void Caller::collect() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    const auto found = calls_.find(handle);
    end(*found->second, found->second->ended(code));
    curl_multi_remove_handle(multi_, handle);
    calls_.erase(found);
  }
}

void Caller::endLate(BootTime now) {
  for (auto next = calls_.begin(); next != calls_.end();) {
    const auto each = next++;
    if (!each->second->isLate(now)) continue;
    end(*each->second, each->second->late());
    curl_multi_remove_handle(multi_, each->first);
    calls_.erase(each);
  }
}

void Caller::end(Call& call, const Response& response) {
  const std::string origin = call.endpoint().origin();
  if (response.end == Response::End::away)
    setup_.breaker.failed(origin, BootClock::now());
  else if (response.end == Response::End::heldUp)
    setup_.breaker.gaveUp(origin);
  else
    setup_.breaker.reached(origin);
  if (isGone(response) && tell_)
    tell_(WebhookGone{escaped(call.given().message->id.value), call.endpoint().address()}, term_->token());
  answer(call.given(), judge(response, waitOf(call.given()), setup_.patience()));
}

/// Since the first call of the message that was not counted.
std::optional<std::chrono::milliseconds> Caller::waitOf(const Given& given) const {
  if (!given.putOffSince) return std::nullopt;
  const WallTime now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return std::max(now - *given.putOffSince, std::chrono::milliseconds{0});
}

/// Answers that have come are kept.
void Caller::lose(const std::string& why) {
  drop();
  replies_.emplace_back(GivenLost{.why = why, .charges = false});
}

void Caller::drop() noexcept {
  waiting_.clear();
  for (const auto& [handle, call] : calls_) {
    setup_.breaker.gaveUp(call->endpoint().origin());
    curl_multi_remove_handle(multi_, handle);
  }
  calls_.clear();
}

}  // namespace

std::unique_ptr<IAnswerer> makeCaller(const Setup& setup, std::size_t lane,
                                      std::function<void(EventBody, FencingToken)> tell) {
  beginCurl();
  return std::make_unique<Caller>(setup, lane, std::move(tell));
}

Response callOnce(const Setup& setup, const Message& message) {
  beginCurl();
  const auto broken = [](const Error& why) { return Response{.end = Response::End::broken, .why = why.detail}; };
  const Result<Endpoint> endpoint = setup.endpointOf(message);
  if (!endpoint) return broken(endpoint.error());
  const auto secrets = setup.secretsOf(*endpoint);
  if (!secrets) return broken(secrets.error());
  Handles handles;
  Call call(setup, handles, {.ticket = {1}, .message = std::make_shared<const Message>(message)}, *endpoint);
  call.prepare(headersOf(setup, message, *secrets, Order{.election = "by hand", .group = {}, .token = 1}));
  curl_easy_setopt(call.handle(), CURLOPT_TIMEOUT_MS, static_cast<long>(setup.options.timeout.count()));
  return call.ended(curl_easy_perform(call.handle()));
}

}  // namespace tenure::webhook
