#include "telemetry/http/health.hpp"

#include "base/text.hpp"

namespace tenure::telemetry {
namespace {

Response yes(const std::string& text) { return {200, text + "\n"}; }
Response no(const std::string& text) { return {503, text + "\n"}; }

std::string paused(const StatusBoard& board) { return board.isPaused() ? ", paused" : ""; }
std::string stateText(const StatusBoard& board) {
  return std::string(board.state()) + " since " + formatWallTime(board.since());
}

/// Empty: nothing is amiss.
std::string whyNotReady(const StatusBoard& board) {
  if (!board.isConnected()) return "not connected to ZooKeeper";
  if (board.state() == "observing") return "";
  if (!board.isReady()) return "it has not looked yet whether a term could begin here";
  if (!*board.isReady()) return "not ready to lead: " + escaped(board.whyNotReady());
  if (!board.outage().empty()) return "there is an outage: " + escaped(board.outage());
  if (board.state() == "left") return "it has left the election";
  return "";
}

}  // namespace

Response livez(const StatusBoard& board, bool isStuck) {
  if (isStuck) return no("stuck: messages wait, and it does nothing though nothing holds them up; " + stateText(board));
  return yes("the control loop turns; " + stateText(board) + paused(board));
}

Response readyz(const StatusBoard& board) {
  const std::string why = whyNotReady(board);
  const char* able = board.state() == "observing" ? "only looks on; " : "able to lead; ";
  return why.empty() ? yes(able + stateText(board) + paused(board)) : no(why);
}

Response leader(const StatusBoard& board, const std::optional<Term>& term) {
  if (!term) return no("does not lead; " + stateText(board));
  if (!term->valid()) return no("its term is no longer valid");
  if (board.state() != "leading") return no("its term has not begun yet, or ends");
  return yes("leads, token " + std::to_string(term->token().value) + ", lease valid for " +
             std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(term->remaining()).count()) + " ms" +
             paused(board));
}

Response standby(const StatusBoard& board) {
  if (board.state() != "standby") return no("does not stand by; " + stateText(board));
  const std::string why = whyNotReady(board);
  return why.empty() ? yes("stands by since " + formatWallTime(board.since()) + ", able to lead") : no(why);
}

Routes healthRoutes(std::function<StatusBoard()> board, const Candidate& replica, std::function<bool()> isStuck) {
  const auto answer = [board](auto make) -> Route {
    return [board, make](const Request&, const Respond& respond) { respond(make(board())); };
  };
  return {{"/livez", answer([isStuck](const StatusBoard& now) { return livez(now, isStuck()); })},
          {"/readyz", answer(readyz)},
          {"/standby", answer(standby)},
          {"/leader", answer([&replica](const StatusBoard& now) { return leader(now, replica.term()); })}};
}

}  // namespace tenure::telemetry
