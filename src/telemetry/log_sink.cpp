#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include "base/text.hpp"
#include "telemetry/event_line.hpp"
#include "telemetry/line_writer.hpp"
#include "tenure/events.hpp"

namespace tenure {
namespace {

spdlog::level::level_enum spdlogLevel(Level level) noexcept {
  switch (level) {
    case Level::debug: return spdlog::level::debug;
    case Level::info: return spdlog::level::info;
    case Level::warn: return spdlog::level::warn;
    case Level::error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// spdlog's own stderr sink waits for a reader that stopped reading, and with it the control thread would.
class StderrSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit StderrSink(LogFormat format)
      : writer_(STDERR_FILENO, format == LogFormat::json ? lossAsJson : LineWriter::lossAsText) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    writer_.write({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  static std::string lossAsJson(std::uint64_t lost) {
    return R"({"at":")" + formatWallTime(systemClock().wallNow()) +
           R"(","level":"warn","event":"log_lines_lost","count":)" + std::to_string(lost) + "}";
  }

  LineWriter writer_;
};

class LogSink final : public ILogSink {
 public:
  LogSink(Level least, CandidateId id, LogFormat format)
      : logger_("tenure", std::make_shared<StderrSink>(format)),
        id_(std::move(id)),
        line_(format == LogFormat::json ? formatEventAsJson : formatEvent) {
    setLevel(least);
  }

  void setLevel(Level least) noexcept override { logger_.set_level(spdlogLevel(least)); }

  void on(const Event& event) noexcept override {
    try {
      const auto level = spdlogLevel(levelOf(event));
      if (logger_.should_log(level)) logger_.log(level, spdlog::string_view_t(line_(event, id_)));
    } catch (...) {
      // Out of memory: the line is lost, the work goes on.
    }
  }

 private:
  spdlog::logger logger_;
  const CandidateId id_;
  std::string (*const line_)(const Event& event, const CandidateId& replica);
};

}  // namespace

std::unique_ptr<ILogSink> makeLogSink(Level least, CandidateId id, LogFormat format) {
  return std::make_unique<LogSink>(least, std::move(id), format);
}

}  // namespace tenure
