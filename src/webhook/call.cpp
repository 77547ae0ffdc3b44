#include "webhook/call.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "messages/headers.hpp"
#include "tenure/version.hpp"
#include "webhook/address.hpp"

namespace tenure::webhook {

namespace {

constexpr std::size_t longestReason = 4096;
/// Nothing more of an answer is read.
constexpr std::size_t longestAnswer = std::size_t{64} * 1024;
constexpr curl_off_t longestRetryAfter = 30 * 86'400;  // seconds
constexpr std::chrono::milliseconds longestConnect{10'000};

std::string contentTypeOf(const Message& message) {
  constexpr auto isVisible = [](char c) { return c >= ' ' && c < 127; };
  const std::string* own = headerOf(message, "content-type");
  if (own != nullptr && !own->empty() && std::ranges::all_of(*own, isVisible)) return *own;
  return nlohmann::json::accept(message.body) ? "application/json" : "application/octet-stream";
}

std::vector<std::string> headersOf(const Setup& setup, const Call::Request& request) {
  const Message& message = *request.message;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const Signed call{.id = webhookId(setup.options.queue, message.id.value),
                    .timestamp = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                    .body = message.body};
  std::vector<std::string> headers{"Expect:", "Content-Type: " + contentTypeOf(message), "webhook-id: " + call.id,
                                   "webhook-timestamp: " + std::to_string(call.timestamp)};
  const std::string signature = signatureOf(call, request.secrets, setup.key ? &*setup.key : nullptr);
  if (!signature.empty()) headers.push_back("webhook-signature: " + signature);
  std::ranges::move(orderHeadersOf(call, request.order, request.secrets), std::back_inserter(headers));
  return headers;
}

}  // namespace

Handles::Handles(const WebhookOptions& options) : options_(options) {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

Handles::~Handles() { std::ranges::for_each(idle_, curl_easy_cleanup); }

CURL* Handles::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      CURL* const handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  return make();
}

void Handles::giveBack(CURL* handle) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(handle);
}

CURL* Handles::make() const {
  CURL* const handle = curl_easy_init();
  const auto set = [handle](auto option, auto value) { curl_easy_setopt(handle, option, value); };
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_POST, 1L);
  set(CURLOPT_USERAGENT, "tenure/" TENURE_VERSION);
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_PROXY, options_.proxy.c_str());  // "": not even one of the environment,
  set(CURLOPT_NOPROXY, "");                    // which takes no call away from this one either
  set(CURLOPT_QUICK_EXIT, 1L);                 // a resolver that does not answer is not waited for
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(options_.timeout, longestConnect).count()));
  if (!options_.certificates.empty()) {
    set(CURLOPT_CAINFO, options_.certificates.c_str());
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // in place of the system's, and not beside them
  }
  return handle;
}

Call::Call(const Setup& setup, Handles& handles, Request request)
    : setup_(setup), handles_(handles), request_(std::move(request)), easy_(handles.take()) {
  prepare();
  startAnew();
}

Call::~Call() {
  handles_.giveBack(easy_);
  curl_slist_free_all(headers_);
}

void Call::startAnew() {
  began_ = BootClock::now();
  sign();
}

void Call::sign() {
  curl_slist_free_all(std::exchange(headers_, nullptr));
  for (const std::string& header : headersOf(setup_, request_)) headers_ = curl_slist_append(headers_, header.c_str());
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
}

void Call::prepare() {
  const std::string& body = request_.message->body;
  const auto set = [this](auto option, auto value) { curl_easy_setopt(easy_, option, value); };
  set(CURLOPT_URL, request_.target->endpoint.url.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_WRITEFUNCTION, &Call::write);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_OPENSOCKETFUNCTION, &Call::open);
  set(CURLOPT_OPENSOCKETDATA, this);
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
  if (!isConnected()) return {.end = End::away, .why = "not connected in time"};
  return {.end = End::broken,
          .why = "no whole answer within " + std::to_string(setup_.options.timeout.count()) + " ms"};
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

}  // namespace tenure::webhook
