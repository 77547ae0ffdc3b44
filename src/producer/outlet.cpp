#include "producer/outlet.hpp"

#include "producer/send_buffer.hpp"

namespace tenure::producing {

std::vector<Result<void>> Outlet::append(std::span<const NewMessage> batch) {
  Errc meaning = Errc::unavailable;
  try {
    if (const Result<void> opened = open(); !opened) return {batch.size(), opened};
    meaning = Errc::outcomeUnknown;
    std::vector<Result<void>> results = sink_->appendEach(batch);
    if (failureOf(results)) sink_.reset();
    return results;
  } catch (const std::exception& thrown) {
    sink_.reset();
    return {batch.size(), Error{meaning, thrown.what()}};
  }
}

Result<void> Outlet::open() {
  if (sink_) return {};
  auto opened = open_();
  if (!opened) return Error{Errc::unavailable, opened.error().message()};
  if (!*opened) return Error{Errc::unavailable, "no sink was opened"};
  sink_ = *std::move(opened);
  return {};
}

}  // namespace tenure::producing
