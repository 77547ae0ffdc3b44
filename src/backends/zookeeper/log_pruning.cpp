// Shortening the consume log at its old end.
#include "backends/zookeeper/store.hpp"

namespace tenure::zookeeper {

Result<void> Store::knowLog() {
  if (log_) return {};
  LogIndex index;
  const auto folders = session_->children(paths_.log);
  if (!folders && !folders.error().is(Errc::notFound)) return folders.error();
  for (const std::string& folder : folders ? *folders : std::vector<std::string>{}) {
    const auto names = session_->children(paths_.log + "/" + folder);
    if (!names) return names.error();
    for (const std::string& name : *names)
      if (const auto piece = Paths::pieceFrom(name)) index.add(*piece);
  }
  log_ = std::move(index);
  return {};
}

/// The oldest lines that may go, piece by piece; of the last one some may stay.
Result<std::vector<Store::Cut>> Store::cutsFor(const LogPruning& step) {
  const std::size_t all = log_->linesOf(step.consumer);
  const std::size_t surplus = step.mostKept > 0 ? all - std::min(all, step.mostKept) : 0;
  const std::vector<LogPiece> pieces = log_->oldest(step.consumer, step.atMost);
  std::vector<std::string> paths;
  for (const LogPiece& piece : pieces) paths.push_back(paths_.logPiece(piece));
  const auto nodes = session_->getAll(paths, SessionThread::Reading::any);
  if (!nodes) return nodes.error();

  std::vector<Cut> cuts;
  std::size_t removed = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (!(*nodes)[i]) return Error{Errc::undone, paths[i] + " is not there any more"};
    const std::string& text = (*nodes)[i]->data;
    const auto lines = logLinesFrom(step.consumer, text);
    if (!lines) return lines.error();
    std::size_t gone = 0;
    for (const LogLine& line : *lines) {
      const bool mayGo = removed < surplus || line.attempt.endedAt < step.before;
      if (!mayGo || removed == step.atMost) break;
      ++gone, ++removed;
    }
    if (gone > 0) cuts.push_back({pieces[i], gone, std::string(withoutLines(text, gone))});
    if (gone < lines->size()) break;
  }
  return cuts;
}

Result<std::size_t> Store::pruneLog(const Term& term, const LogPruning& step) {
  if (const Result<void> ours = isClaimedBy(term); !ours) return ours.error();
  if (claimed_->inDoubt) return Error{Errc::outcomeUnknown, "the last commit is not resolved"};
  if (const Result<void> known = knowLog(); !known) return known.error();
  const Result<std::vector<Cut>> cuts = cutsFor(step);
  if (!cuts) {
    log_.reset();
    return cuts.error();
  }
  if (cuts->empty()) return std::size_t{0};

  if (const Result<void> committed = write(claimed_->fence, opsFor(*cuts)); !committed) return committed.error();
  std::size_t removed = 0;
  for (const Cut& cut : *cuts) {
    log_->shorten(cut.piece, cut.piece.lines - cut.lines);
    removed += cut.lines;
  }
  return removed;
}

/// A folder goes with its last piece, but for the one that the next piece may come into.
std::vector<MultiOp> Store::opsFor(const std::vector<Cut>& cuts) const {
  std::vector<MultiOp> ops;
  std::map<std::int64_t, std::size_t> left;  // pieces, by folder
  const std::int64_t newest = LogPiece{claimed_->fence.logPieces, 0, {}}.folder();
  for (const auto& [piece, gone, rest] : cuts) {
    ops.emplace_back(RemoveOp{paths_.logPiece(piece)});
    const std::int64_t folder = piece.folder();
    const std::size_t lines = piece.lines - gone;
    if (lines > 0) ops.emplace_back(CreateOp{paths_.logPiece({piece.number, lines, piece.consumer}), rest});
    if (lines > 0 || folder == newest) continue;
    if (--left.try_emplace(folder, log_->piecesIn(folder)).first->second == 0)
      ops.emplace_back(RemoveOp{paths_.logFolder(folder)});
  }
  return ops;
}

}  // namespace tenure::zookeeper
