#include "cli/replica/status_file.hpp"

#include <condition_variable>
#include <mutex>

#include "base/threads.hpp"

namespace tenure::cli {
namespace {

constexpr std::chrono::seconds countsInterval{1};
constexpr std::chrono::seconds patience{1};

}  // namespace

struct StatusFile::Shared {
  enum class Pending { nothing, counts, state };

  Shared(std::filesystem::path where, StatusBoard first, IEventSink& told, const std::function<Write>& how)
      : file(std::move(where)), write(how), log(&told), board(std::move(first)) {}

  const std::filesystem::path file;
  const std::function<Write> write;
  IEventSink* log;  // nullptr once stop has given up waiting for the writer
  std::mutex mutex;
  std::condition_variable changed;
  StatusBoard board;
  Pending pending = Pending::state;
  bool stopping = false;
  bool over = false;
  bool failed = false;

  void run();
  /// With the lock: a log that is gone must not be told.
  void tell(const std::string& what) const {
    if (log != nullptr) log->on(Event{systemClock().wallNow(), {}, {}, Warned{what}});
  }
};

StatusFile::StatusFile(std::filesystem::path file, StatusBoard board, IEventSink& log,
                       const std::function<Write>& write)
    : shared_(std::make_shared<Shared>(std::move(file), std::move(board), log, write)) {
  const SignalsBlocked blocked;
  writer_ = std::thread([shared = shared_] { shared->run(); });
}

StatusFile::~StatusFile() {
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->changed.notify_all();
  const bool over = shared_->changed.wait_for(lock, patience, [this] { return shared_->over; });
  if (!over) shared_->tell("the status file " + shared_->file.string() + " does not take the last state in time");
  shared_->log = nullptr;
  lock.unlock();
  over ? writer_.join() : writer_.detach();
}

void StatusFile::on(const Event& event) noexcept {
  try {
    const std::lock_guard lock(shared_->mutex);
    const bool urgent = shared_->board.on(event);
    if (urgent || shared_->pending == Shared::Pending::nothing) shared_->changed.notify_all();
    shared_->pending = std::max(shared_->pending, urgent ? Shared::Pending::state : Shared::Pending::counts);
  } catch (...) {
    // Out of memory: the file is late, the work goes on.
  }
}

void StatusFile::Shared::run() {
  std::chrono::steady_clock::time_point lastWrite{};
  std::unique_lock lock(mutex);
  while (!over) {
    changed.wait(lock, [this] { return stopping || pending != Pending::nothing; });
    if (pending == Pending::counts)
      changed.wait_until(lock, lastWrite + countsInterval, [this] { return stopping || pending == Pending::state; });
    const bool last = stopping;
    if (std::exchange(pending, Pending::nothing) != Pending::nothing) {
      const std::string text = board.json();
      lock.unlock();
      const std::error_code failure = write(file, text);
      lock.lock();
      if (failure && !failed) tell("the status file " + file.string() + " cannot be written: " + failure.message());
      failed = static_cast<bool>(failure);
      lastWrite = std::chrono::steady_clock::now();
    }
    over = last;
  }
  changed.notify_all();
}

}  // namespace tenure::cli
