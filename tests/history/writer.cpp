#include "history/writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "base/random.hpp"
#include "base/text.hpp"

namespace tenure::history {
namespace {

/// Which line each event becomes; the others become none.
class Recording {
 public:
  Recording(const Writer& history, std::int64_t token) : history_(history), token_(token) {}

  void operator()(const TermBegan&) const { history_.write(Stage::invoke, Op::lead, token_); }
  void operator()(const Inaugurated&) const { history_.write(Stage::info, Op::lead, token_, "inaugurated"); }
  void operator()(const TermEnded& ended) const {
    history_.write(Stage::ok, Op::lead, token_, std::string(toString(ended.reason)) + (ended.clean ? "" : ", unclean"));
  }
  void operator()(const BarrierEnded& ended) const { history_.write(Stage::ok, Op::barrier, token_, ended.how); }
  void operator()(const FenceClaimed&) const { history_.write(Stage::ok, Op::claim, token_); }
  void operator()(const FenceRefused& refused) const { history_.write(Stage::fail, Op::claim, token_, refused.error); }
  void operator()(const HolderEvicted& evicted) const {
    history_.write(Stage::ok, Op::evict, token_, "pid " + std::to_string(evicted.pid));
  }
  void operator()(const MessageDeadLettered& letter) const {
    Line line;
    line.token = token_;
    line.op = Op::dead;
    line.id = letter.message;
    line.outcome = letter.reason;
    history_.write(std::move(line));
  }
  template <class Other>
  void operator()(const Other&) const {}

 private:
  const Writer& history_;
  std::int64_t token_;
};

}  // namespace

Writer::Writer(const std::filesystem::path& file, std::string process, std::string election)
    : fd_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
      process_(std::move(process)),
      election_(std::move(election)),
      incarnation_(freshUuid()) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), file.string());
}

Writer::~Writer() { close(fd_); }

void Writer::write(Line line) const {
  if (line.at == 0) line.at = BootClock::now().time_since_epoch().count();
  line.wall = formatWallTime(systemClock().wallNow());
  line.process = process_;
  line.pid = getpid();
  line.incarnation = incarnation_;
  line.election = election_;
  const std::string bytes = format(line) + '\n';
  if (::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::system_error(errno, std::generic_category(), "history");
}

void Writer::write(Stage stage, Op op, std::int64_t token, std::string outcome) const {
  Line line;
  line.token = token;
  line.stage = stage;
  line.op = op;
  line.outcome = std::move(outcome);
  write(std::move(line));
}

void EventRecorder::on(const Event& event) noexcept {
  event.body.visit(Recording(history_, event.token.value));
  next_.on(event);
}

}  // namespace tenure::history
