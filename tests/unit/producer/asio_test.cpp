// The producer from an Asio loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "fake_queue.hpp"
#include "support/program.hpp"
#include "support/results.hpp"
#include "tenure/producer_asio.hpp"
#include "tenure/spi/spool.hpp"
#include "tenure/sqlite.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

std::vector<Result<void>> refusedAll(std::span<const NewMessage> messages) {
  return std::vector<Result<void>>(messages.size(), Error{Errc::unavailable, "away"});
}

// shows: sending/asio-coroutine-goes
TEST(ProducerFromAsio, ACoroutineGoesOnInItsLoopOnceTheQueueHasConfirmed) {
  boost::asio::io_context loop;  // outlives the producer
  FakeQueue queue;
  Producer producer(queue.opener());
  const auto own = std::this_thread::get_id();
  bool isDone = false;
  const auto session = [&]() -> boost::asio::awaitable<void> {
    for (const char* id : {"1", "2"}) {
      const Result<void> stored = co_await asyncSend(producer, message(id), {}, boost::asio::use_awaitable);
      EXPECT_THAT(stored, succeeds());
      EXPECT_EQ(std::this_thread::get_id(), own);
    }
    isDone = true;
  };
  boost::asio::co_spawn(loop, session, boost::asio::detached);

  loop.run();

  EXPECT_TRUE(isDone);
  EXPECT_THAT(queue.ids(), ElementsAre("1", "2"));
}

// shows: sending/asio-coroutine-goes
TEST(ProducerFromAsio, OnDiskIsEnoughWhereThatIsAskedFor) {
  boost::asio::io_context loop;  // outlives the producer
  FakeQueue queue;
  queue.setFate([](auto batch) { return std::optional(refusedAll(batch)); });
  const TemporaryFolder folder;
  ProducerOptions options;
  options.durability = Durability::spooled;
  options.spillAfter = 1ms;
  Producer producer(queue.opener(), sqlite::openSpool({.file = folder / "spool.db"}).value(), options);
  std::optional<Result<void>> spooled;
  auto note = boost::asio::bind_executor(loop, [&](Result<void> result) { spooled = std::move(result); });
  asyncSend(producer, message("1"), {}, std::move(note));

  loop.run();  // until the answer has come

  ASSERT_TRUE(spooled);
  EXPECT_THAT(*spooled, succeeds());
  EXPECT_EQ(producer.figures().spooled, 1U);
}

// shows: sending/asio-coroutine-goes
TEST(ProducerFromAsio, ARefusalComesByTheLoopAsWell) {
  boost::asio::io_context loop;  // outlives the producer
  FakeQueue queue;
  Producer producer(queue.opener());
  EXPECT_THAT(producer.close(1s), succeeds());
  std::optional<Result<void>> answer;
  auto note = boost::asio::bind_executor(loop, [&](Result<void> result) { answer = std::move(result); });
  asyncSend(producer, message("1"), {}, std::move(note));
  EXPECT_FALSE(answer);

  loop.run();

  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, failsWith(Errc::cancelled));
}

}  // namespace
}  // namespace tenure::test
