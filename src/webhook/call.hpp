/// One call of a URL: its request, and what its end says.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tenure/message.hpp"
#include "webhook/setup.hpp"

namespace tenure::webhook {

/// Handles of libcurl, with all that calls of one webhook have in common; kept from one call to the next. Threads: any.
class Handles {
 public:
  /// Borrows the options.
  explicit Handles(const WebhookOptions& options);
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  CURL* take();
  void giveBack(CURL* handle);

 private:
  CURL* make() const;

  const WebhookOptions& options_;
  std::mutex mutex_;
  std::vector<CURL*> idle_;
};

/// Threads: one at a time.
class Call {
 public:
  struct Request {
    std::shared_ptr<const Message> message;
    TargetPtr target;
    std::vector<Secret> secrets;
    Order order;
  };
  /// Borrows setup and handles. The handle is ready to run; the call's time counts from here.
  Call(const Setup& setup, Handles& handles, Request request);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  CURL* handle() const noexcept { return easy_; }
  const Request& request() const noexcept { return request_; }
  /// The call starts later than it was made: the time that is signed, and its limit, count from now.
  void startAnew();
  BootTime began() const noexcept { return began_; }
  Response ended(CURLcode code) const;
  bool isLate(BootTime now) const noexcept { return now - began_ >= setup_.options.timeout; }
  /// Of one without an answer in time.
  Response late() const;

 private:
  static std::size_t write(char* bytes, std::size_t, std::size_t count, void* call);
  static curl_socket_t open(void* call, curlsocktype purpose, curl_sockaddr* address);
  void sign();
  void prepare();
  Response failed(CURLcode code) const;
  bool isConnected() const;

  const Setup& setup_;
  Handles& handles_;
  const Request request_;
  CURL* const easy_;
  curl_slist* headers_ = nullptr;
  std::string answer_;  // its first bytes
  std::size_t read_ = 0;
  bool wasRefused_ = false;  // an address that is not global
  BootTime began_{};
};

}  // namespace tenure::webhook
