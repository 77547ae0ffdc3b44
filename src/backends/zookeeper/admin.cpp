// What operators ask of a store and do to it, each call in a session of its own.
#include <algorithm>
#include <ranges>

#include "backends/shared/choices.hpp"
#include "backends/shared/inspection.hpp"
#include "backends/shared/record_text.hpp"
#include "backends/zookeeper/fence_node.hpp"
#include "backends/zookeeper/letter_text.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/session_thread.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "tenure/zookeeper_store.hpp"

namespace tenure::zookeeper {
namespace {

Error changedMeanwhile() { return {Errc::versionMismatch, "the fence row is not the expected one any more"}; }

class Admin final : public IStoreAdmin {
 public:
  explicit Admin(const StoreOptions& options) : options_(options), paths_(options.root, options.name) {}

  Result<Findings> inspect() override {
    SessionThread session(options_.zookeeper, options_.replyLimit);
    backends::Inspection found;
    const Result<Node> base = session.getFresh(paths_.base);
    if (!base && !base.error().is(Errc::notFound)) return base.error();
    if (!base) {
      found.fact("store", "absent", "the first leader makes " + paths_.base);
      return found.take();
    }
    const std::string owner = ownerFrom(base->data).election;
    found.fact("store", owner.empty() ? "of no election yet" : "of election " + owner, paths_.base);
    const Result<Node> stored = session.getFresh(paths_.fence);
    if (!stored && stored.error().is(Errc::notFound)) {
      found.require(owner.empty(), "fence", "absent", "the fence of election " + owner + ": see tenure fence rebase");
      return found.take();
    }
    if (!stored) return stored.error();
    const FenceNode fence = fenceFrom(stored->data);
    found.require(fence.damage.empty(), "fence of " + owner, backends::described(fence.row),
                  "a sound one; " + fence.damage);
    if (const Result<void> looked = lookAtAcl(session, found); !looked) return looked.error();
    return found.take();
  }

  Result<std::vector<FenceRow>> fenceRows() override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const Result<Node> fence = open->session->getFresh(paths_.fence);
    if (fence) return std::vector{fenceFrom(fence->data).row};
    return fence.error().is(Errc::notFound) ? Result<std::vector<FenceRow>>(std::vector<FenceRow>{}) : fence.error();
  }

  Result<void> rebaseFence(const FenceRow& expected, const EnsembleUuid& ensemble, std::int64_t generation,
                           const std::string& path) override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const Result<Node> stored = open->session->getFresh(paths_.fence);
    if (!stored && !stored.error().is(Errc::notFound)) return stored.error();
    FenceNode fence;
    if (stored) fence = fenceFrom(stored->data);
    if (!backends::isSame(fence.row, expected) || ownerFrom(open->base.data).election != expected.election.value)
      return changedMeanwhile();
    if (generation <= fence.row.generation)
      return Error{Errc::invalidArgument, "generation " + std::to_string(generation) + " is not above " +
                                              std::to_string(fence.row.generation)};
    fence.row.election = expected.election;
    fence.row.ensemble = ensemble;
    fence.row.generation = generation;
    fence.row.path = path;
    fence.row.token = {};
    fence.row.sequence = 0;
    fence.row.candidate = {};
    fence.row.claimedAt = systemClock().wallNow();
    fence.by = freshUuid();
    if (!stored)
      if (const Result<void> found = findNumbers(*open->session, fence); !found) return found;
    const std::string owner = ownerText({expected.election.value, path});
    std::vector<MultiOp> ops{SetOp{paths_.base, owner, open->base.stat.version}};
    if (stored)
      ops.emplace_back(SetOp{paths_.fence, fenceText(fence), stored->stat.version});
    else
      ops.emplace_back(CreateOp{paths_.fence, fenceText(fence)});
    const Result<void> written = open->session->multi(std::move(ops));
    const bool conflict =
        !written && (written.error().is(Errc::versionMismatch) || written.error().is(Errc::alreadyExists));
    return conflict ? changedMeanwhile() : written;
  }

  /// There is one fence, and it goes along.
  Result<void> moveTo(const FenceRow& from, const FenceRow& to) override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const Result<Node> stored = open->session->getFresh(paths_.fence);
    if (!stored) return stored.error();
    FenceNode fence = fenceFrom(stored->data);
    const Result<bool> moves = backends::judgeMove(std::vector{backends::StoredFence{fence.row, fence.damage}},
                                                   ownerFrom(open->base.data), from, to);
    if (!moves) return moves.error();
    if (!*moves) return {};
    fence.row = to;
    fence.by = freshUuid();
    const Result<void> written =
        open->session->multi({SetOp{paths_.base, ownerText({to.election.value, to.path}), open->base.stat.version},
                              SetOp{paths_.fence, fenceText(fence), stored->stat.version}});
    return !written && written.error().is(Errc::versionMismatch) ? changedMeanwhile() : written;
  }

  Result<std::vector<DeadLetter>> deadLetters(std::size_t limit, const LetterChoice& choice) override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const auto all = letters(*open->session, choice, limit);
    if (!all) return all.error();
    std::vector<DeadLetter> found;
    for (const Letter& each : *all) found.push_back(each.letter);
    return found;
  }

  Result<std::vector<std::int64_t>> requeueDeadLetters(const LetterChoice&) override {
    return Error{Errc::unsupported, "a ZooKeeper store keeps no queue: send them to theirs, then purge them"};
  }
  Result<std::vector<std::int64_t>> pardonDeadLetters(const LetterChoice& choice) override {
    return forEach(choice, [this](SessionThread& session, const Letter& each) { return pardon(session, each); });
  }
  Result<std::vector<std::int64_t>> purgeDeadLetters(const LetterChoice& choice) override {
    return forEach(choice, [this](SessionThread& session, const Letter& each) {
      return removed(session, pathOf(each.letter.number), anyVersion);
    });
  }

  Result<std::vector<FailingMessage>> failing() override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    auto names = open->session->childrenOfAll(paths_.attemptShards());
    if (!names) return names.error();
    std::ranges::sort(*names);
    std::vector<FailingMessage> found;
    for (const std::string& name : *names) {
      const auto whose = Paths::whose(name);
      const Result<Node> node = open->session->getFresh(paths_.attempt(name));
      if (!whose || (!node && node.error().is(Errc::notFound))) continue;
      if (!node) return node.error();
      Result<AttemptRecord> record = backends::attemptFrom(whose->second, node->data);
      if (!record) return record.error();
      found.push_back({whose->first, std::move(*record)});
    }
    return found;
  }

  Result<std::vector<LogLine>> log(const LogChoice& choice) override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    auto folders = foldersOfLog(*open->session);
    if (!folders) return folders.error();
    std::vector<LogLine> lines;  // the newest first
    for (const std::int64_t folder : *folders | std::views::reverse) {
      if (lines.size() >= choice.limit) break;
      if (const Result<void> read = readLog(*open->session, folder, choice, lines); !read) return read.error();
    }
    std::ranges::reverse(lines);
    return lines;
  }

  Result<void> release(const ConsumerName& consumer, const MessageId& id) override {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const std::string path = paths_.attempt(consumer, id);
    while (true) {
      const Result<Node> node = open->session->getFresh(path);
      if (!node) return node.error().is(Errc::notFound) ? backends::blocksNobody(id) : node.error();
      Result<AttemptRecord> record = backends::attemptFrom(id, node->data);
      if (!record) return record.error();
      if (record->standing != Standing::blocked) return backends::blocksNobody(id);
      record->standing = Standing::released;
      const Result<void> written =
          open->session->multi({SetOp{path, backends::attemptValue(*record), node->stat.version}});
      if (written || !written.error().is(Errc::versionMismatch)) return written;  // its leader was faster: again
    }
  }

 private:
  struct Opened {
    std::unique_ptr<SessionThread> session;
    Node base;
  };

  /// All that is below was made with the same rights.
  Result<void> lookAtAcl(SessionThread& session, backends::Inspection& found) const {
    const Result<bool> open = session.isWorldWritable(paths_.fence);
    if (!open) return open.error();
    found.expectSafe(!*open, "ACL of " + paths_.fence, *open ? "anybody may change it" : "not open to all",
                     "a digest (digest-file) from the first leader on: whoever may write there can let a stale leader "
                     "commit");
    return {};
  }

  Result<Opened> openStore() const {
    auto session = std::make_unique<SessionThread>(options_.zookeeper, options_.replyLimit);
    Result<Node> base = session->getFresh(paths_.base);
    if (!base && base.error().is(Errc::notFound)) return Error{Errc::notFound, "there is no store " + paths_.base};
    if (!base) return base.error();
    return Opened{std::move(session), std::move(*base)};
  }

  std::string pathOf(std::int64_t number) const { return paths_.letter(number); }

  /// What the children of a folder are called that have numbers for names, in order.
  static Result<std::vector<std::int64_t>> numbersIn(SessionThread& session, const std::string& folder) {
    const auto names = session.children(folder);
    if (!names) return names.error();
    std::vector<std::int64_t> numbers;
    for (const std::string& name : *names)
      if (const auto number = Paths::numberFrom(name)) numbers.push_back(*number);
    std::ranges::sort(numbers);
    return numbers;
  }

  /// Where a fence that was lost goes on: with folders of letters and of the log that are not there.
  Result<void> findNumbers(SessionThread& session, FenceNode& fence) const {
    const auto letters = numbersIn(session, paths_.dead);
    if (!letters && !letters.error().is(Errc::notFound)) return letters.error();
    const auto folders = foldersOfLog(session);
    if (!folders) return folders.error();
    const auto former = numbersIn(session, paths_.formerDead());
    if (!former && !former.error().is(Errc::notFound)) return former.error();
    std::int64_t nextFolder = letters && !letters->empty() ? letters->back() + 1 : 0;
    if (former && !former->empty()) nextFolder = std::max(nextFolder, Paths::letterFolderOf(former->back()) + 1);
    fence.deadLetters = std::max<std::int64_t>(nextFolder * Paths::lettersAFolder - 1, 0);
    fence.logPieces = folders->empty() ? 0 : (folders->back() + 1) * LogPiece::aFolder;
    return {};
  }

  /// None before something was logged.
  Result<std::vector<std::int64_t>> foldersOfLog(SessionThread& session) const {
    auto folders = numbersIn(session, paths_.log);
    if (!folders && folders.error().is(Errc::notFound)) return std::vector<std::int64_t>{};
    return folders;
  }

  /// Those of the folder that are chosen, the newest first.
  Result<void> readLog(SessionThread& session, std::int64_t folder, const LogChoice& choice,
                       std::vector<LogLine>& lines) const {
    auto names = session.children(paths_.logFolder(folder));
    if (!names) return names.error().is(Errc::notFound) ? Result<void>{} : names.error();
    std::ranges::sort(*names, std::greater<>{});
    for (const std::string& name : *names) {
      const auto piece = Paths::pieceFrom(name);
      if (!piece || (choice.consumer && piece->consumer != *choice.consumer)) continue;
      const Result<Node> node = session.get(paths_.logFolder(folder) + "/" + name);
      if (!node && node.error().is(Errc::notFound)) continue;
      if (!node) return node.error();
      auto read = logLinesFrom(piece->consumer, node->data);
      if (!read) return read.error();
      for (LogLine& line : *read | std::views::reverse) {
        if (lines.size() >= choice.limit) return {};
        if (backends::isChosen(choice, line)) lines.push_back(std::move(line));
      }
    }
    return {};
  }

  /// Those that are chosen, oldest first.
  Result<std::vector<Letter>> letters(SessionThread& session, const LetterChoice& choice, std::size_t limit) const {
    const Result<std::vector<std::int64_t>> folders = numbersIn(session, paths_.dead);
    if (!folders && folders.error().is(Errc::notFound)) return std::vector<Letter>{};
    if (!folders) return folders.error();
    std::vector<Letter> found;
    for (const std::int64_t folder : *folders) {
      const Result<std::vector<std::int64_t>> numbers = numbersIn(session, paths_.letterFolder(folder));
      if (!numbers && numbers.error().is(Errc::notFound)) continue;
      if (!numbers) return numbers.error();
      for (const std::int64_t number : *numbers) {
        if (found.size() == limit) return found;
        if (!backends::isNamed(choice, number)) continue;
        auto letter = readLetter(session, number);
        if (!letter) return letter.error();
        if (*letter && backends::isChosen(choice, (*letter)->letter)) found.push_back(*std::move(*letter));
      }
    }
    return found;
  }

  /// Nullopt: it has gone meanwhile.
  Result<std::optional<Letter>> readLetter(SessionThread& session, std::int64_t number) const {
    const Result<Node> node = session.get(pathOf(number));
    if (!node && node.error().is(Errc::notFound)) return std::optional<Letter>{};
    if (!node) return node.error();
    Result<Letter> letter = letterFrom(number, node->data);
    if (!letter) return letter.error();
    return std::optional(std::move(*letter));
  }

  static Result<void> removed(SessionThread& session, const std::string& path, std::int32_t version) {
    const Result<void> gone = session.multi({RemoveOp{path, version}});
    return !gone && gone.error().is(Errc::notFound) ? Result<void>{} : gone;
  }

  Result<void> pardon(SessionThread& session, const Letter& each) const {
    const std::string key = paths_.id(each.consumer, each.letter.message.id);
    const Result<Node> stored = session.getFresh(key);
    // A key that is done belongs to another body that came under the same id.
    if (stored && stored->data.starts_with('x'))
      if (const Result<void> gone = removed(session, key, stored->stat.version); !gone) return gone;
    return removed(session, paths_.attempt(each.consumer, each.letter.message.id), anyVersion);
  }

  template <class Each>
  Result<std::vector<std::int64_t>> forEach(const LetterChoice& choice, Each each) const {
    const Result<Opened> open = openStore();
    if (!open) return open.error();
    const auto chosen = letters(*open->session, choice, std::numeric_limits<std::size_t>::max());
    if (!chosen) return chosen.error();
    std::vector<std::int64_t> changed;
    for (const Letter& letter : *chosen) {
      if (const Result<void> done = each(*open->session, letter); !done) return done.error();
      changed.push_back(letter.letter.number);
    }
    return changed;
  }

  StoreOptions options_;
  Paths paths_;
};

}  // namespace

std::unique_ptr<IStoreAdmin> openStoreAdmin(const StoreOptions& options) { return std::make_unique<Admin>(options); }

}  // namespace tenure::zookeeper
