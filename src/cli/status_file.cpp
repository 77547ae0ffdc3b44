#include "cli/status_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds countsInterval{1};

bool writeAll(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Writes a new file beside it and renames it over the old one.
std::error_code replaceFile(const std::filesystem::path& file, std::string_view text) {
  const std::string fresh = file.string() + ".new." + std::to_string(::getpid());
  const int descriptor = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (descriptor < 0) return {errno, std::system_category()};
  std::error_code failure;
  if (!writeAll(descriptor, text)) failure = {errno, std::system_category()};
  ::close(descriptor);
  if (!failure) std::filesystem::rename(fresh, file, failure);
  if (failure) ::unlink(fresh.c_str());
  return failure;
}

}  // namespace

StatusFile::StatusFile(std::filesystem::path file, StatusBoard board, IEventSink& log)
    : file_(std::move(file)), log_(log), board_(std::move(board)) {
  // The thread takes no signal: those belong to the control thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

StatusFile::~StatusFile() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  writer_.join();
}

void StatusFile::on(const Event& event) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    const bool urgent = board_.on(event);
    if (urgent || pending_ == Pending::nothing) changed_.notify_one();
    pending_ = std::max(pending_, urgent ? Pending::state : Pending::counts);
  } catch (...) {
    // Out of memory: the file is late, the work goes on.
  }
}

void StatusFile::run() {
  std::chrono::steady_clock::time_point lastWrite{};
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || pending_ != Pending::nothing; });
    if (pending_ == Pending::counts)
      changed_.wait_until(lock, lastWrite + countsInterval, [this] { return stopping_ || pending_ == Pending::state; });
    const bool last = stopping_;
    if (std::exchange(pending_, Pending::nothing) != Pending::nothing) {
      const std::string text = board_.json();
      lock.unlock();
      write(text);
      lock.lock();
      lastWrite = std::chrono::steady_clock::now();
    }
    if (last) return;
  }
}

void StatusFile::write(const std::string& text) {
  const std::error_code failure = replaceFile(file_, text);
  if (failure && !failed_)
    log_.on(Event{systemClock().wallNow(),
                  {},
                  {},
                  Warned{"the status file " + file_.string() + " cannot be written: " + failure.message()}});
  failed_ = static_cast<bool>(failure);
}

}  // namespace tenure::cli
