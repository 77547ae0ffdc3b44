#include "backends/redis/inspection.hpp"

#include "backends/redis/connection.hpp"
#include "backends/redis/errors.hpp"
#include "backends/redis/keys.hpp"
#include "backends/shared/inspection.hpp"
#include "base/text.hpp"
#include "storage/key_value/encoding.hpp"

namespace tenure::redis {
namespace {

using backends::Inspection;

void judgeDurability(const ServerFacts& server, std::string_view info, const Options& options, Inspection& found) {
  const Severity unsafe = options.allowUnsafe ? Severity::warning : Severity::refusal;
  found.expect(server.aofEnabled == "1", unsafe, "appendonly", server.aofEnabled == "1" ? "yes" : "no",
               "yes: a restart loses commits");
  found.expect(server.appendFsync == "always", unsafe, "appendfsync",
               server.appendFsync.empty() ? "not known" : server.appendFsync,
               server.appendFsync.empty() ? "CONFIG GET is denied to this user: allow it +config|get"
                                          : "always: a crash loses commits");
  found.expect(server.evictionPolicy == "noeviction", unsafe, "maxmemory-policy", server.evictionPolicy,
               "noeviction: an evicted fence or idempotency key is lost");
  const std::string lastWrite = valueIn(info, "aof_last_write_status");
  if (!lastWrite.empty())
    found.expect(lastWrite == "ok", Severity::refusal, "aof_last_write_status", lastWrite,
                 "ok: the disk takes no writes");
}

Result<void> judgeReplicas(Connection& connection, std::string_view info, Inspection& found) {
  const std::string replicas = valueIn(info, "connected_slaves");
  if (replicas == "0") {
    found.fact("replicas", replicas);
    return {};
  }
  const Result<Reply> asked = connection.read({"CONFIG", "GET", "min-replicas-to-write"});
  const std::string least = asked ? asked->view().after("min-replicas-to-write").text() : "not known";
  found.expectSafe(false, "replicas", replicas + ", min-replicas-to-write " + least,
                   "a failover to one that lags may lose acknowledged commits, with the fence; a term that notices "
                   "ends");
  return {};
}

Result<Inspection> lookAtServer(Connection& connection, const Options& options) {
  const Result<Reply> read = connection.read({"INFO"});
  if (!read) return read.error();
  const std::string_view info = read->view().bytes();
  const ServerFacts& server = connection.server();
  Inspection found;
  found.fact("Redis", server.version, nameOf(options));
  ServerFacts fit = server;  // what is left of the verdict when nothing can be lost
  const Result<void> fitness = judgeServer(fit, true);
  found.require(fitness.has_value(), "role", server.role,
                "a primary that can serve; " + (fitness ? "" : fitness.error().detail));
  judgeDurability(server, info, options, found);
  if (const Result<void> judged = judgeReplicas(connection, info, found); !judged) return judged.error();
  const bool isCluster = valueIn(info, "cluster_enabled") == "1";
  found.fact("cluster", isCluster ? "yes" : "no",
             isCluster ? "this queue lies in one slot: after that moves, name the node that holds it" : "");
  found.expectSafe(!connection.passwordWasClear(), "TLS", "none",
                   "a tunnel (stunnel) in front: the password could be read on its way");
  return found;
}

Result<void> lookAtQueue(Connection& connection, const Options& options, Inspection& found) {
  const Keys keys(tagOf(options.queue, options.elsewhere));
  const std::array<Arguments, 4> questions{{{"HLEN", keys[Keys::queue]},
                                            {"HMGET", keys[Keys::queue], "owner", "election"},
                                            {"TYPE", keys[Keys::fence]},
                                            {"MGET", keys[Keys::fence]}}};
  const Result<std::vector<Reply>> answers = connection.read(questions);
  if (!answers && answers.error().is(Errc::configurationRefused)) {
    found.require(false, "queue", "elsewhere", answers.error().detail);
    return {};
  }
  if (!answers) return answers.error();
  const bool isOlder = (*answers)[2].view().bytes() == "hash" || !(*answers)[1][1].isNil();
  const auto textIn = [](ReplyView value) { return value.isNil() ? std::nullopt : std::optional(value.text()); };
  const storage::FenceFound fence = storage::fenceFrom(textIn((*answers)[3][0]), textIn((*answers)[1][0]));
  const std::string& owner = fence.owner.election;
  if (isOlder)
    found.require(false, "queue", "of an earlier version", olderLayout(options.queue).detail);
  else if ((*answers)[0].view().integer() == 0)
    found.fact("queue", "absent", "the first producer or leader makes it");
  else
    found.fact("queue", owner.empty() ? "of no election yet" : "of election " + owner);
  for (const storage::StoredFence& stored : fence.stored)
    found.require(stored.damage.empty(), "fence of " + stored.row.election.value, backends::described(stored.row),
                  "a sound one; " + stored.damage);
  found.expectSafe(options.keepIdsFor.count() > 0, "keep-ids", formatDuration(options.keepIdsFor),
                   "some days: keys that are kept for ever fill the server's memory");
  return {};
}

}  // namespace

Result<Findings> inspect(const Options& options) {
  const Result<std::unique_ptr<Connection>> connection = Connection::look(options);
  if (!connection) return connection.error();
  Result<Inspection> found = lookAtServer(**connection, options);
  if (!found) return found.error();
  if (connection.value()->server().isLoading) return found->take();
  if (const Result<void> looked = lookAtQueue(**connection, options, *found); !looked) return looked.error();
  return found->take();
}

}  // namespace tenure::redis
