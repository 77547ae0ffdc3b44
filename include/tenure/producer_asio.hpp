/// A Producer's messages from Asio: co_await asyncSend(producer, message, how, boost::asio::use_awaitable).
#pragma once

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "tenure/producer.hpp"

namespace tenure {

/// Sends, and completes with what the future of send() would have, or with what send() itself has refused: by the
/// handler's own executor, never within the call. `how.reached` is used for it. Where the buffer may be full, take
/// Overload::reject or spill: block would hold up the loop. The loop has to outlive the producer.
///
/// Signature of the handler: void(Result<void>)
template <class Token>
auto asyncSend(Producer& producer, NewMessage message, SendOptions how, Token&& token) {
  auto start = [&producer](auto handler, NewMessage sent, SendOptions with) {
    using Handler = decltype(handler);
    struct Waiting {
      explicit Waiting(Handler waits)
          : handler(std::move(waits)), work(boost::asio::get_associated_executor(handler)) {}
      Handler handler;
      boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler>> work;
    };
    auto waiting = std::make_shared<Waiting>(std::move(handler));
    const auto complete = [waiting](const Result<void>& result) {
      const auto executor = waiting->work.get_executor();
      boost::asio::post(executor, [waiting, result] {
        Handler own = std::move(waiting->handler);
        waiting->work.reset();
        std::move(own)(result);
      });
    };
    with.reached = complete;
    const auto accepted = producer.post(std::move(sent), std::move(with));
    if (!accepted) complete(accepted.error());
  };
  return boost::asio::async_initiate<Token, void(Result<void>)>(std::move(start), token, std::move(message),
                                                                std::move(how));
}

}  // namespace tenure
