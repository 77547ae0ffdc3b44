#include "cli/input/intake.hpp"

#include <thread>
#include <utility>

#include "tenure/message.hpp"

namespace tenure::cli {
namespace {
constexpr std::size_t batchMessages = 512;
constexpr std::size_t batchSize = 4U << 20U;
}  // namespace

bool isOfMessage(const Error& error) noexcept {
  return error.is(Errc::alreadyScheduled) || error.is(Errc::alreadyDone);
}

Intake::Intake(LineReader& reader, LineMessages messages, IMessageSink& sink, BadLine onBadLine,
               std::chrono::milliseconds patience)
    : reader_(reader),
      messages_(std::move(messages)),
      sink_(sink),
      onBadLine_(std::move(onBadLine)),
      patience_(patience),
      backoff_(std::chrono::milliseconds{2}, std::chrono::milliseconds{200}, Random{freshSeed()}) {}

void Intake::take(const Line& line) {
  lastLine_ = line.number;
  if (messages_.isBlank(line)) return;
  Result<NewMessage> message = messages_.of(line);
  if (!message) {
    ++counts_.bad;
    onBadLine_(line.number, message.error().message());
    return;
  }
  batchBytes_ += message->body.size();
  batch_.push_back(std::move(*message));
  lines_.push_back(line.number);
}

Result<void> Intake::append(std::span<const NewMessage> messages) {
  const BootTime giveUp = BootClock::now() + patience_;
  backoff_.reset();
  Result<void> stored = sink_.append(messages);
  while (!stored && stored.error().is(Errc::storeBusy) && BootClock::now() < giveUp) {
    std::this_thread::sleep_for(backoff_.next());
    stored = sink_.append(messages);
  }
  if (stored) taken_ += static_cast<std::int64_t>(messages.size());
  return stored;
}

/// Of one that fails otherwise, the batch is that message alone: those behind it were not sent.
Result<void> Intake::storeOneByOne() {
  std::vector<NewMessage> all = std::exchange(batch_, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    batch_.assign(1, std::move(all[i]));
    const Result<void> stored = append(batch_);
    if (!stored && !isOfMessage(stored.error())) return stored;
    if (!stored) ++counts_.bad;
    if (!stored) onBadLine_(lines_[i], stored.error().message());
    countUpTo(lines_[i]);
  }
  return {};
}

void Intake::countUpTo(std::int64_t line) {
  counts_.repeated = sink_.leftOut();
  counts_.stored = taken_ - counts_.repeated;
  counts_.nextLine = line + 1;
}

Result<void> Intake::store() {
  Result<void> stored = append(batch_);
  if (!stored && isOfMessage(stored.error())) stored = storeOneByOne();
  if (!stored && isOutcomeUnknown(stored.error().code)) counts_.unknown = static_cast<std::int64_t>(batch_.size());
  if (!stored) return stored;
  batch_.clear();
  lines_.clear();
  batchBytes_ = 0;
  countUpTo(lastLine_);
  return {};
}

Result<void> Intake::flush() { return batch_.empty() ? Result<void>{} : store(); }

Result<void> Intake::run() {
  // Nothing yet: it makes the queue, and a queue that cannot be written is told before any input is taken.
  if (const auto stored = store(); !stored) return stored;
  while (true) {
    const bool isFull = batch_.size() >= batchMessages || batchBytes_ >= batchSize;
    if (isFull || !reader_.isReady())
      if (const auto stored = flush(); !stored) return stored;
    const auto line = reader_.next();
    if (!line) return line.error();
    if (!*line) return flush();
    take(**line);
  }
}

}  // namespace tenure::cli
