#include "testing/ensemble/ensemble_clients.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "testing/ensemble/ensemble_server.hpp"

namespace tenure::ensemble {

Clients::Guest* Clients::find(std::uint64_t connection) {
  const auto found = guests_.find(connection);
  return found == guests_.end() ? nullptr : &found->second;
}

std::uint64_t Clients::accept(std::shared_ptr<Connection> wire, MachineId machine, IClientEnd& client) {
  const std::uint64_t connection = ++server_->world().lastConnection;
  wire->onClosed(server_->id(), [this, connection] { drop(connection); });
  guests_.emplace(connection, Guest{.wire = std::move(wire), .machine = machine, .client = &client});
  return connection;
}

void Clients::drop(std::uint64_t connection) {
  const auto found = guests_.find(connection);
  if (found == guests_.end()) return;
  found->second.wire->close(server_->id());
  guests_.erase(found);
  for (Watches* watches : {&dataWatches_, &childWatches_})
    for (auto& [path, watching] : *watches) watching.erase(connection);
}

void Clients::dropAll() {
  while (!guests_.empty()) drop(guests_.begin()->first);
}

void Clients::onHello(std::uint64_t connection, const Hello& hello) {
  Guest* guest = find(connection);
  if (guest == nullptr) return;
  // No leader, or the client has seen more than this server: it must try another.
  if (server_->role() == nullptr || hello.lastSeen > server_->tree().lastZxid()) return drop(connection);
  World& world = server_->world();
  if (world.refusedDigests.contains(hello.identity))
    return welcome(connection, {}, Welcome::Kind::authenticationFailed);
  const auto tick = world.settings.tick;
  guest->timeout = std::clamp(hello.timeout, 2 * tick, 20 * tick);
  guest->identity = hello.identity;
  if (hello.session.value == 0) {
    const SessionId fresh{(std::int64_t{server_->id().value} << 56) + ++world.lastSession};
    return server_->role()->submit({.origin = {server_->id(), connection, 0},
                                    .session = fresh,
                                    .identity = {},
                                    .operation = OpenSession{fresh, guest->timeout}});
  }
  server_->role()->revalidate(hello.session, [this, connection, session = hello.session](bool alive) {
    welcome(connection, session, alive ? Welcome::Kind::attached : Welcome::Kind::expired);
  });
}

void Clients::welcome(std::uint64_t connection, SessionId session, Welcome::Kind kind) {
  Guest* guest = find(connection);
  if (guest == nullptr) return;
  guest->wire->send(server_->id(), [client = guest->client, told = Welcome{kind, session, guest->timeout}] {
    client->onWelcome(told);
  });
  if (kind == Welcome::Kind::attached)
    guest->session = session;
  else
    drop(connection);
}

void Clients::onRequest(std::uint64_t connection, std::int64_t xid, Operation operation) {
  Guest* guest = find(connection);
  if (guest == nullptr || guest->session.value == 0 || server_->role() == nullptr) return;
  server_->role()->touch(guest->session);
  guest->waiting.push_back({xid, std::move(operation)});
  Waiting& waiting = guest->waiting.back();
  if (const auto fault = server_->world().takeFault(guest->machine, waiting.operation)) {
    if (fault->what == Fault::What::requestLost) return guest->wire->sever();
    if (fault->what == Fault::What::replyLost) waiting.replyLost = true;
    if (fault->what == Fault::What::refused)
      waiting.reply = Reply{.error = Error(fault->code, "refused by a fault"), .zxid = server_->tree().lastZxid()};
  }
  if (!waiting.reply) pass(connection, *guest, waiting);
  drain(connection);
}

// Writes go to the leader as they come; what is behind them waits here.
void Clients::pass(std::uint64_t connection, Guest& guest, const Waiting& waiting) {
  const Origin origin{server_->id(), connection, waiting.xid};
  if (isWrite(waiting.operation))
    server_->role()->submit({origin, guest.session, guest.identity, waiting.operation});
  else if (std::holds_alternative<Sync>(waiting.operation))
    server_->role()->sync(origin);
}

void Clients::onApplied(const Transaction& transaction, const Reply& reply) {
  const bool ours = transaction.origin.server == server_->id();
  // Not an answer but the end of the connection: leader and client would disagree for ever on where the session is.
  if (ours && transaction.sessionMoved) return drop(transaction.origin.connection);
  if (ours) answer(transaction.origin, reply);
  for (const Change& change : transaction.changes) {
    if (const auto* opened = std::get_if<SessionOpened>(&change); opened != nullptr && ours)
      welcome(transaction.origin.connection, opened->session, Welcome::Kind::attached);
    if (const auto* closed = std::get_if<SessionClosed>(&change)) closeSession(closed->session);
  }
}

void Clients::closeSession(SessionId session) {
  std::vector<std::uint64_t> leaving;
  for (const auto& [connection, guest] : guests_)
    if (guest.session == session) leaving.push_back(connection);
  for (const std::uint64_t connection : leaving) drop(connection);
}

void Clients::answer(const Origin& origin, Reply reply) {
  Guest* guest = find(origin.connection);
  if (guest == nullptr) return;
  const auto asked = std::ranges::find(guest->waiting, origin.xid, &Waiting::xid);
  if (asked != guest->waiting.end()) asked->reply = std::move(reply);
  drain(origin.connection);
}

void Clients::drain(std::uint64_t connection) {
  Guest* guest = find(connection);
  while (guest != nullptr && !guest->waiting.empty()) {
    Waiting& next = guest->waiting.front();
    const bool local = !isWrite(next.operation) && !std::holds_alternative<Sync>(next.operation);
    if (!next.reply && !local) return;
    if (next.replyLost) {
      guest->wire->sever();
      guest->waiting.clear();
      return;
    }
    if (std::holds_alternative<Ping>(next.operation))
      guest->wire->send(server_->id(), [client = guest->client] { client->onPong(); });
    else if (const auto* watches = std::get_if<SetWatches>(&next.operation))
      leaveWatches(connection, *guest, *watches);
    else
      say(*guest, next.xid, next.reply ? std::move(*next.reply) : read(connection, *guest, next.operation));
    guest->waiting.pop_front();
  }
}

void Clients::say(Guest& guest, std::int64_t xid, Reply reply) {
  if (reply.zxid == 0) reply.zxid = server_->tree().lastZxid();
  guest.wire->send(server_->id(),
                   [client = guest.client, xid, reply = std::move(reply)] { client->onReply(xid, reply); });
}

// Reading

Reply Clients::readNode(const Guest& guest, const std::string& path,
                        const std::function<void(const ZNode&, Reply&)>& fill) {
  Reply reply;
  const ZNode* node = server_->tree().find(path);
  if (node == nullptr)
    reply.error = Error(Errc::notFound, escaped(path) + ": no node");
  else if (!node->creator.empty() && node->creator != guest.identity)
    reply.error = Error(Errc::permissionDenied, escaped(path) + ": not authenticated");
  else
    fill(*node, reply);
  return reply;
}

Reply Clients::read(std::uint64_t connection, const Guest& guest, const Operation& operation) {
  if (const auto* get = std::get_if<Get>(&operation))
    return readNode(guest, get->path, [&](const ZNode& node, Reply& reply) {
      reply.data = node.data;
      reply.stat = statOf(node);
      if (get->watch) dataWatches_[get->path].insert(connection);
    });
  if (const auto* children = std::get_if<Children>(&operation))
    return readNode(guest, children->path, [&](const ZNode& node, Reply& reply) {
      reply.names.assign(node.children.begin(), node.children.end());
      if (children->watch) childWatches_[children->path].insert(connection);
    });
  if (const auto* acl = std::get_if<GetAcl>(&operation))
    return readNode(guest, acl->path,
                    [](const ZNode& node, Reply& reply) { reply.worldWritable = node.creator.empty(); });
  const auto& exists = std::get<Exists>(operation);  // allowed without the right to read
  if (exists.watch) dataWatches_[exists.path].insert(connection);
  Reply reply;
  if (const ZNode* node = server_->tree().find(exists.path))
    reply.stat = statOf(*node);
  else
    reply.error = Error(Errc::notFound, escaped(exists.path) + ": no node");
  return reply;
}

// Watches

void Clients::fire(Watches& watches, const std::string& path, WatchEvent event, std::set<std::uint64_t>& told) {
  const auto found = watches.find(path);
  if (found == watches.end()) return;
  const std::set<std::uint64_t> watching = std::move(found->second);
  watches.erase(found);
  for (const std::uint64_t connection : watching) {
    if (!told.insert(connection).second) continue;
    Guest& guest = guests_.at(connection);
    guest.wire->send(server_->id(), [client = guest.client, path, event] { client->onEvent(path, event); });
  }
}

void Clients::onEvent(const std::string& path, WatchEvent event) {
  std::set<std::uint64_t> told;  // a deletion is told once to a connection that has both kinds of watches
  if (event != WatchEvent::childrenChanged) fire(dataWatches_, path, event, told);
  if (event == WatchEvent::childrenChanged || event == WatchEvent::deleted) fire(childWatches_, path, event, told);
}

void Clients::leaveWatches(std::uint64_t connection, Guest& guest, const SetWatches& watches) {
  const auto tell = [&](const std::string& path, WatchEvent event) {
    guest.wire->send(server_->id(), [client = guest.client, path, event] { client->onEvent(path, event); });
  };
  for (const std::string& path : watches.data) {
    const ZNode* node = server_->tree().find(path);
    if (node == nullptr)
      tell(path, WatchEvent::deleted);
    else if (node->mzxid > watches.since)
      tell(path, WatchEvent::dataChanged);
    else
      dataWatches_[path].insert(connection);
  }
  for (const std::string& path : watches.absent) {
    if (server_->tree().find(path) != nullptr)
      tell(path, WatchEvent::created);
    else
      dataWatches_[path].insert(connection);
  }
  for (const std::string& path : watches.children) {
    const ZNode* node = server_->tree().find(path);
    if (node == nullptr)
      tell(path, WatchEvent::deleted);
    else if (node->pzxid > watches.since)
      tell(path, WatchEvent::childrenChanged);
    else
      childWatches_[path].insert(connection);
  }
}

}  // namespace tenure::ensemble
