#include "cli/replica/metrics_file.hpp"

#include <sys/stat.h>

#include <condition_variable>
#include <mutex>

#include "cli/output/replace_file.hpp"

namespace tenure::cli {
namespace {

constexpr mode_t forEverybody = 0644;

ino_t inodeOf(const std::filesystem::path& file) {
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0 ? found.st_ino : 0;
}

}  // namespace

struct MetricsFile::Shared {
  Shared(std::filesystem::path where, IEventSink& told) : file(std::move(where)), log(&told) {}

  const std::filesystem::path file;
  std::mutex mutex;
  std::condition_variable_any changed;
  IEventSink* log;                  // nullptr once the owner is gone, and perhaps the log
  std::optional<std::string> text;  // to be written
  bool hasFailed = false;
  ino_t written = 0;  // the file that we wrote last; 0: none

  void run(const std::stop_token& stop);
  void write(const std::string& what);
};

MetricsFile::MetricsFile(std::filesystem::path file, IEventSink& log)
    : shared_(std::make_shared<Shared>(std::move(file), log)) {
  writer_.start([shared = shared_](const std::stop_token& stop) { shared->run(stop); });
}

MetricsFile::~MetricsFile() {
  const std::lock_guard lock(shared_->mutex);
  shared_->log = nullptr;
}

void MetricsFile::keep(boost::asio::io_context& loop, std::function<std::string()> text) {
  text_ = std::move(text);
  timer_.emplace(loop);
  tick();
}

void MetricsFile::write(std::string text) {
  const std::lock_guard lock(shared_->mutex);
  shared_->text = std::move(text);
  shared_->changed.notify_all();
}

void MetricsFile::tick() {
  write(text_());
  timer_->expires_after(every);
  timer_->async_wait([this](const auto& error) {
    if (!error) tick();
  });
}

void MetricsFile::Shared::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex);
  while (changed.wait(lock, stop, [this] { return text.has_value(); })) {
    const std::string what = *std::exchange(text, std::nullopt);
    lock.unlock();
    write(what);
    lock.lock();
  }
  std::error_code ignored;
  if (written != 0 && inodeOf(file) == written) std::filesystem::remove(file, ignored);
}

void MetricsFile::Shared::write(const std::string& what) {
  const std::error_code failure = replaceFile(file, what);
  if (!failure) ::chmod(file.c_str(), forEverybody);
  written = failure ? 0 : inodeOf(file);
  const std::lock_guard lock(mutex);
  if (failure && !hasFailed && log != nullptr)
    log->on(Event{systemClock().wallNow(),
                  {},
                  {},
                  Warned{"the metrics file " + file.string() + " cannot be written: " + failure.message()}});
  hasFailed = static_cast<bool>(failure);
}

}  // namespace tenure::cli
