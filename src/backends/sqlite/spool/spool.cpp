#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>

#include "backends/sqlite/queue_rows.hpp"
#include "backends/sqlite/spool/spool_rows.hpp"
#include "base/emit.hpp"
#include "base/validation.hpp"
#include "messages/headers.hpp"

namespace tenure::sqlite {
namespace {

constexpr std::uint64_t reserve = 4ULL << 20U;     // bytes of the disk that are kept free
constexpr std::uint64_t shrunkFrom = 1ULL << 20U;  // with so many unused bytes a spool's file is made smaller
constexpr std::chrono::seconds shrunkAtClose{1};   // for so long at most
constexpr std::int64_t purgedAtOnce = 1'000;       // refused messages of one transaction: its log stays small

class Spool final : public ISpool {
 public:
  Spool(SpoolOptions options, IEventSink& events)
      : options_(std::move(options)), emit_(events, systemClock(), ElectionName{}) {}
  /// No outage leaves a large file behind for good.
  ~Spool() override {
    if (!file_.connection || figures().messages > 0) return;
    for (const BootTime until = BootClock::now() + shrunkAtClose; shrinkOnce() && BootClock::now() < until;) continue;
  }

  Result<void> open() {
    auto opened = openSpoolFile(options_);
    if (!opened && isDamaged(options_.file, opened.error())) return replace(opened.error());
    if (!opened) return opened.error();
    file_ = *std::move(opened);
    const Result<void> counted = count();
    if (counted && figures().messages == 0) shrinkOnce();
    return counted;
  }

  Result<std::int64_t> append(std::span<const NewMessage> messages, const FollowedFile* sent) override {
    const std::lock_guard alone(mutex_);
    std::uint64_t bytes = 0;
    for (const NewMessage& message : messages) bytes += sizeOf(message);
    if (const Result<void> fits = checkLimit(bytes); !fits) return fits.error();
    if (const Result<void> fits = checkDisk(bytes); !fits) return fits.error();
    return orReplaced<std::int64_t>([&] { return appendRows(messages, sent); });
  }

  Result<std::vector<FollowedFile>> followed() override {
    const std::lock_guard alone(mutex_);
    return orReplaced<std::vector<FollowedFile>>([&] { return followedRows(); });
  }

  Result<std::vector<RefusedMessage>> refused(std::int64_t from, std::size_t messages) override {
    const std::lock_guard alone(mutex_);
    return orReplaced<std::vector<RefusedMessage>>([&] { return refusedRows(from, messages); });
  }

  Result<std::size_t> purgeRefused(WallTime before) override {
    const std::lock_guard alone(mutex_);
    return orReplaced<std::size_t>([&]() -> Result<std::size_t> {
      const auto purged = purgeRows(before);
      if (const Result<void> counted = count(); purged && !counted) return counted.error();
      while (purged && shrinkOnce()) continue;
      return purged;
    });
  }

  Result<std::vector<SpooledMessage>> read(std::int64_t from, std::size_t messages, std::size_t bytes) override {
    const std::lock_guard alone(mutex_);
    return orReplaced<std::vector<SpooledMessage>>([&] { return readRows(from, messages, bytes); });
  }

  Result<void> settle(std::span<const SpoolSettlement> settlements) override {
    const std::lock_guard alone(mutex_);
    if (settlements.empty()) return {};
    return orReplaced<void>([&]() -> Result<void> {
      // The commit need not be synced: the next append syncs it.
      Result<void> settled = connection().run("PRAGMA synchronous=NORMAL");
      if (settled) settled = inTransaction(connection(), [&] { return settleRows(settlements); });
      const Result<void> synced = connection().run("PRAGMA synchronous=FULL");
      if (!settled || !synced) return settled ? synced : settled;
      const Result<void> counted = count();
      if (counted && figures().messages == 0) shrinkOnce();
      return counted;
    });
  }

  SpoolFigures figures() const override {
    const std::lock_guard lock(figuresMutex_);
    return figures_;
  }

 private:
  Connection& connection() { return *file_.connection; }

  /// Within the file.
  std::uint64_t freeBytes() {
    Query free = connection().query("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size");
    const Result<bool> row = free.next();
    return row && *row ? static_cast<std::uint64_t>(free.integer(0)) : 0;
  }

  /// Gives some of the file's unused pages back, in a short time. True: another call would give more.
  bool shrinkOnce() {
    const std::uint64_t before = freeBytes();
    if (before < shrunkFrom) return false;
    if (!connection().script("PRAGMA incremental_vacuum(500); PRAGMA wal_checkpoint(TRUNCATE)")) return false;
    const std::uint64_t left = freeBytes();
    return left >= shrunkFrom && left < before;
  }

  /// Where no message waits, one append may go beyond the limit: a spool that sends takes any message in the end. Only
  /// refused messages, which nothing takes out but a purge, may fill it for good.
  Result<void> checkLimit(std::uint64_t bytes) const {
    const SpoolFigures now = figures();
    const bool goesBeyond = now.bytes + now.refusedBytes + bytes > options_.maxBytes;
    if (!goesBeyond || (now.messages == 0 && now.refusedBytes < options_.maxBytes)) return {};
    std::string why = options_.file.string() + ": the spool is full: " + std::to_string(now.messages) +
                      " messages of " + std::to_string(now.bytes) + " bytes wait, the limit is " +
                      std::to_string(options_.maxBytes) + " bytes";
    if (now.refused > 0)
      why += "; " + std::to_string(now.refused) + " refused messages of " + std::to_string(now.refusedBytes) +
             " bytes are kept aside and count as well: stop this process, and `tenure spool purge " +
             options_.file.string() + " --all` deletes them";
    return Error{Errc::storeFull, std::move(why)};
  }

  /// Some room is kept, because to take messages out costs room as well.
  Result<void> checkDisk(std::uint64_t bytes) {
    std::error_code failed;
    const std::filesystem::space_info disk = std::filesystem::space(options_.file, failed);
    if (failed || disk.available >= reserve + 2 * bytes || !file_.connection) return {};
    const std::uint64_t room = disk.available + freeBytes();
    if (room >= reserve + 2 * bytes) return {};
    return Error{Errc::storeFull, options_.file.string() + ": the disk is full: " + std::to_string(room) +
                                      " bytes are left, of which the spool needs " + std::to_string(reserve) +
                                      " to take messages out"};
  }

  /// Once more, where the file turned out to be damaged and was replaced.
  template <class T>
  Result<T> orReplaced(const std::function<Result<T>()>& work) {
    if (!file_.connection)
      if (const Result<void> opened = open(); !opened) return opened.error();
    Result<T> done = work();
    if (done || !isDamaged(options_.file, done.error())) return done;
    if (const Result<void> replaced = replace(done.error()); !replaced) return replaced.error();
    return work();
  }

  /// Wherever the process dies, either the damaged file is there as it was, or the new one is complete. The file stays
  /// where it is while it cannot be said what can be read of it.
  Result<void> replace(const Error& why) {
    file_ = {};
    SpoolOptions anew = options_;
    anew.file = replacementOf(options_.file);
    anew.create = true;
    auto opened = openSpoolFile(anew);
    if (!opened) return opened.error();
    const Result<Salvaged> saved = salvage(options_.file, *opened);
    if (!saved && !cannotBeSaved(saved.error())) return saved.error();
    const Result<void> goesOn = opened->connection->run("UPDATE tenure_queue SET last = max(last, ?1)", figures().last);
    if (!goesOn) return goesOn;
    *opened = {};  // its journal is part of the file then
    keepOwner(options_.file, anew.file);
    const Result<std::filesystem::path> aside = setAside(options_.file);
    if (!aside) return aside.error();
    opened = openSpoolFile(options_);
    if (!opened) return opened.error();
    file_ = *std::move(opened);
    const std::string lost = saved ? saved->lost : "; nothing could be saved: " + saved.error().message();
    emit_(SpoolDamaged{options_.file.string(), aside->string(), saved ? saved->messages : 0, why.message() + lost});
    return count();
  }

  Result<std::int64_t> appendRows(std::span<const NewMessage> messages, const FollowedFile* sent) {
    std::int64_t first = 0;
    Result<void> done = inTransaction(connection(), [&]() -> Result<void> {
      if (const auto appended = appendTo(connection(), file_.queue, messages, false); !appended)
        return appended.error();
      Query last = connection().query("SELECT last FROM tenure_queue WHERE number = ?1", file_.queue);
      if (const Result<bool> row = last.next(); !row) return row.error();
      first = last.integer(0) - static_cast<std::int64_t>(messages.size()) + 1;
      if (const Result<void> timed = appendTimes(messages, first); !timed) return timed;
      if (sent != nullptr)
        if (const Result<void> kept = keep(*sent); !kept) return kept;
      return connection().run(
          "UPDATE tenure_spool SET messages = messages + ?1, bytes = bytes + (SELECT coalesce(sum(" +
              std::string(sizeInRow) + "), 0) FROM tenure_message WHERE n >= ?2)",
          static_cast<std::int64_t>(messages.size()), first);
    });
    if (done) done = count();
    return done ? Result<std::int64_t>(first) : done.error();
  }

  Result<void> keep(const FollowedFile& file) {
    return connection().run(
        "INSERT OR REPLACE INTO tenure_spool_followed(path, inode, born_at, cut_at, sent, head)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
        file.path, static_cast<std::int64_t>(file.inode), file.bornAt, file.cutAt, file.offset, Blob{file.head});
  }

  Result<std::vector<FollowedFile>> followedRows() {
    Query rows = connection().query("SELECT path, inode, born_at, cut_at, sent, head FROM tenure_spool_followed");
    std::vector<FollowedFile> all;
    for (;;) {
      const Result<bool> row = rows.next();
      if (!row) return row.error();
      if (!*row) return all;
      all.push_back({std::string(rows.text(0)), static_cast<std::uint64_t>(rows.integer(1)), rows.integer(2),
                     rows.time(3), rows.integer(4), std::string(rows.bytes(5))});
    }
  }

  Result<void> appendTimes(std::span<const NewMessage> messages, std::int64_t position) {
    for (const NewMessage& message : messages) {
      const std::int64_t own = position++;
      if (!message.deliverAt) continue;
      const Result<void> kept =
          connection().run("INSERT INTO tenure_spool_time(n, deliver_at, replaces) VALUES(?1, ?2, ?3)", own,
                           *message.deliverAt, std::int64_t{message.replacesScheduled ? 1 : 0});
      if (!kept) return kept;
    }
    return {};
  }

  Result<std::vector<SpooledMessage>> readRows(std::int64_t from, std::size_t messages, std::size_t bytes) {
    Query rows = connection().query(
        "SELECT m.n, m.id, m.grp, m.body, m.headers, t.deliver_at, t.replaces"
        " FROM tenure_message m LEFT JOIN tenure_spool_time t ON t.n = m.n WHERE m.n BETWEEN ?1 AND ?2"
        " ORDER BY m.n LIMIT ?3",
        std::max(from, positionIn(file_.queue, 0)), lastPositionIn(file_.queue), static_cast<std::int64_t>(messages));
    std::vector<SpooledMessage> read;
    for (std::size_t size = 0; size < bytes;) {
      const Result<bool> row = rows.next();
      if (!row) return row.error();
      if (!*row) break;
      read.push_back(messageIn(rows));
      size += sizeOf(read.back().message);
    }
    return read;
  }

  /// The message of a row whose first columns are n, id, grp, body, headers, deliver_at, replaces.
  static SpooledMessage messageIn(Query& row) {
    Message read{{MessageId{row.text(1)}, GroupId{row.text(2)}, row.text(3)}};
    messages::readSentHeaders(row.bytes(4), read);
    if (!row.isNull(5)) read.deliverAt = row.time(5);
    read.replacesScheduled = row.integer(6) == 1;
    std::string lacks = std::move(read.lacks);
    return {std::move(read), row.integer(0), std::move(lacks)};
  }

  Result<std::vector<RefusedMessage>> refusedRows(std::int64_t from, std::size_t messages) {
    Query rows = connection().query(
        "SELECT n, id, grp, body, headers, deliver_at, replaces, reason, refused_at FROM tenure_spool_refused"
        " WHERE n >= ?1 ORDER BY n LIMIT ?2",
        from, static_cast<std::int64_t>(messages));
    std::vector<RefusedMessage> read;
    for (;;) {
      const Result<bool> row = rows.next();
      if (!row) return row.error();
      if (!*row) return read;
      read.push_back({messageIn(rows), std::string(rows.text(7)), rows.time(8)});
    }
  }

  Result<void> settleRows(std::span<const SpoolSettlement> settlements) {
    std::vector<std::int64_t> positions;
    for (const SpoolSettlement& each : settlements) {
      positions.push_back(each.position);
      if (!each.refusal) continue;
      if (const Result<void> kept = keepAside(each.position, *each.refusal); !kept) return kept;
    }
    std::ranges::sort(positions);
    for (std::size_t first = 0; first < positions.size();) {
      std::size_t last = first;  // of a run without a gap
      while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) ++last;
      if (const Result<void> gone = takeOut(positions[first], positions[last]); !gone) return gone;
      first = last + 1;
    }
    return {};
  }

  Result<void> keepAside(std::int64_t position, const Error& refusal) {
    const Result<int> kept = connection().change(
        "INSERT INTO tenure_spool_refused SELECT m.n, m.id, m.grp, m.body, m.headers, m.enqueued_at,"
        " t.deliver_at, coalesce(t.replaces, 0), ?2, ?3"
        " FROM tenure_message m LEFT JOIN tenure_spool_time t ON t.n = m.n WHERE m.n = ?1 ON CONFLICT(n) DO NOTHING",
        position, refusal.message(), systemClock().wallNow());
    if (!kept) return kept.error();
    if (*kept == 0) return {};  // settled before, or aside already
    return connection().run("UPDATE tenure_spool SET refused = refused + 1, refused_bytes = refused_bytes + (SELECT " +
                                std::string(sizeInRow) + " FROM tenure_spool_refused WHERE n = ?1)",
                            position);
  }

  Result<std::size_t> purgeRows(WallTime before) {
    std::size_t purged = 0;
    for (std::int64_t from = 0;;) {
      const auto last = endOfPart(from);
      if (!last) return last.error();
      if (!*last) return purged;
      const Result<void> done = inTransaction(connection(), [&] { return purgePart(from, **last, before, purged); });
      if (!done) return done.error();
      from = **last + 1;
    }
  }

  /// Position of the last of the refused messages that are purged at once from there on; nullopt: there is none.
  Result<std::optional<std::int64_t>> endOfPart(std::int64_t from) {
    Query end =
        connection().query("SELECT max(n) FROM (SELECT n FROM tenure_spool_refused WHERE n >= ?1 ORDER BY n LIMIT ?2)",
                           from, purgedAtOnce);
    const Result<bool> row = end.next();
    if (!row) return row.error();
    return end.isNull(0) ? std::nullopt : std::optional(end.integer(0));
  }

  Result<void> purgePart(std::int64_t first, std::int64_t last, WallTime before, std::size_t& purged) {
    constexpr std::string_view which = " FROM tenure_spool_refused WHERE n BETWEEN ?1 AND ?2 AND refused_at < ?3";
    const Result<void> counted = connection().run(
        "UPDATE tenure_spool SET (refused, refused_bytes) = (SELECT refused - count(*), refused_bytes - coalesce(sum(" +
            std::string(sizeInRow) + "), 0)" + std::string(which) + ")",
        first, last, before);
    if (!counted) return counted;
    const Result<int> deleted = connection().change("DELETE" + std::string(which), first, last, before);
    if (!deleted) return deleted.error();
    purged += static_cast<std::size_t>(*deleted);
    return {};
  }

  Result<void> takeOut(std::int64_t first, std::int64_t last) {
    Result<void> done = connection().run(
        "UPDATE tenure_spool SET (messages, bytes) = (SELECT messages - count(*), bytes - coalesce(sum(" +
            std::string(sizeInRow) + "), 0) FROM tenure_message WHERE n BETWEEN ?1 AND ?2)",
        first, last);
    for (const char* table : {"tenure_spool_time", "tenure_message"})
      if (done)
        done = connection().run("DELETE FROM " + std::string(table) + " WHERE n BETWEEN ?1 AND ?2", first, last);
    return done;
  }

  /// From what the tables tell without being read through, after each change.
  Result<void> count() {
    Query totals = connection().query(
        "SELECT messages, bytes, refused, refused_bytes,"
        " (SELECT enqueued_at FROM tenure_message ORDER BY n LIMIT 1),"
        " (SELECT last FROM tenure_queue WHERE number = ?1) FROM tenure_spool",
        file_.queue);
    const Result<bool> row = totals.next();
    if (!row) return row.error();
    SpoolFigures now{static_cast<std::size_t>(totals.integer(0)), static_cast<std::uint64_t>(totals.integer(1)),
                     options_.maxBytes, static_cast<std::size_t>(totals.integer(2)),
                     static_cast<std::uint64_t>(totals.integer(3))};
    if (!totals.isNull(4)) now.oldest = totals.time(4);
    now.last = totals.integer(5);
    const std::lock_guard lock(figuresMutex_);
    figures_ = now;
    return {};
  }

  const SpoolOptions options_;
  const Emitter emit_;
  std::mutex mutex_;
  SpoolFile file_;
  mutable std::mutex figuresMutex_;  // so that a slow disk holds up no figures
  SpoolFigures figures_;
};

}  // namespace

Result<std::unique_ptr<ISpool>> openSpool(const SpoolOptions& options, IEventSink& events) {
  constexpr std::uint64_t least = 1ULL << 20U;
  constexpr std::uint64_t most = 1ULL << 40U;
  if (options.maxBytes < least || options.maxBytes > most)
    return Error{Errc::invalidArgument, "maxBytes: expected 1 MiB to 1 TiB"};
  auto spool = std::make_unique<Spool>(options, events);
  if (const Result<void> opened = spool->open(); !opened) return opened.error();
  return spool;
}

}  // namespace tenure::sqlite
