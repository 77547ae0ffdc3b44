#include "cli/metrics_file.hpp"

#include "base/signals_blocked.hpp"
#include "cli/status_file.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds writeEvery{10};

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path file, const ReplicaMetrics& metrics, const Candidate& replica,
                         IEventSink& log)
    : file_(std::move(file)), metrics_(metrics), replica_(replica), log_(log) {
  const SignalsBlocked blocked;
  writer_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

MetricsFile::~MetricsFile() {
  writer_.request_stop();
  writer_.join();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

void MetricsFile::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any woken;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    write();
    woken.wait_for(lock, stop, writeEvery, [] { return false; });
  }
}

void MetricsFile::write() {
  const std::error_code failure =
      StatusFile::replaceFile(file_, metrics_.text(http::MetricsFormat::prometheus, replica_.term()));
  if (failure && !failed_)
    log_.on(Event{systemClock().wallNow(),
                  {},
                  {},
                  Warned{"the metrics file " + file_.string() + " cannot be written: " + failure.message()}});
  failed_ = static_cast<bool>(failure);
}

}  // namespace tenure::cli
