#include "testing/ensemble/ensemble_tree.hpp"

#include "base/assert.hpp"

namespace tenure::ensemble {

std::string parentOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string baseOf(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

NodeStat statOf(const ZNode& node) noexcept {
  // What the server reports counts changes of the list of children, what it keeps counts creations; both may wrap.
  const auto changes =
      static_cast<std::uint32_t>(node.creations) * 2 - static_cast<std::uint32_t>(node.children.size());
  return {.czxid = node.czxid,
          .mzxid = node.mzxid,
          .pzxid = node.pzxid,
          .version = node.version,
          .cversion = static_cast<std::int32_t>(changes),
          .ephemeralOwner = node.owner.value,
          .dataLength = static_cast<std::int32_t>(node.data.size()),
          .childCount = static_cast<std::int32_t>(node.children.size())};
}

DataTree::DataTree() {
  nodes_["/"].children.insert("zookeeper");
  nodes_["/zookeeper"];
}

const ZNode* DataTree::find(std::string_view path) const {
  const auto found = nodes_.find(path);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::vector<std::string> DataTree::ephemeralsOf(SessionId session) const {
  const auto found = ephemerals_.find(session);
  if (found == ephemerals_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void DataTree::plant(const std::string& path, ZNode node) {
  nodes_.at(parentOf(path)).children.insert(baseOf(path));
  if (node.owner.value != 0) ephemerals_[node.owner].insert(path);
  nodes_[path] = std::move(node);
}

Reply DataTree::apply(const Transaction& transaction, const Notify& notify) {
  lastZxid_ = transaction.zxid;
  Reply reply{.error = transaction.refused, .zxid = transaction.zxid};
  for (const Change& change : transaction.changes)
    std::visit([&](const auto& one) { apply(one, reply, notify); }, change);
  return reply;
}

void DataTree::apply(const NodeCreated& change, Reply& reply, const Notify& notify) {
  const std::string parentPath = parentOf(change.path);
  ZNode& parent = nodes_.at(parentPath);
  parent.children.insert(baseOf(change.path));
  // As the server does it: a counter that has wrapped is not larger, so the old one stays, and is given out again.
  if (change.parentCreations > parent.creations) {
    parent.creations = change.parentCreations;
    parent.pzxid = lastZxid_;
  }
  ZNode& node = nodes_[change.path] = ZNode{.data = change.data,
                                            .creator = change.creator,
                                            .owner = change.owner,
                                            .czxid = lastZxid_,
                                            .mzxid = lastZxid_,
                                            .pzxid = lastZxid_};
  if (change.owner.value != 0) ephemerals_[change.owner].insert(change.path);
  reply.stat = statOf(node);
  reply.names.push_back(change.path);
  notify(change.path, WatchEvent::created);
  notify(parentPath, WatchEvent::childrenChanged);
}

void DataTree::apply(const NodeSet& change, Reply& reply, const Notify& notify) {
  ZNode& node = nodes_.at(change.path);
  node.data = change.data;
  node.mzxid = lastZxid_;
  node.version = change.version;
  reply.stat = statOf(node);
  notify(change.path, WatchEvent::dataChanged);
}

void DataTree::apply(const NodeRemoved& change, Reply&, const Notify& notify) {
  const auto found = nodes_.find(change.path);
  TENURE_ASSERT(found != nodes_.end());
  if (const auto owned = ephemerals_.find(found->second.owner); owned != ephemerals_.end()) {
    owned->second.erase(change.path);
    if (owned->second.empty()) ephemerals_.erase(owned);
  }
  nodes_.erase(found);
  const std::string parentPath = parentOf(change.path);
  ZNode& parent = nodes_.at(parentPath);
  parent.children.erase(baseOf(change.path));
  parent.pzxid = lastZxid_;
  notify(change.path, WatchEvent::deleted);
  notify(parentPath, WatchEvent::childrenChanged);
}

void DataTree::apply(const SessionOpened& change, Reply&, const Notify&) { sessions_[change.session] = change.timeout; }

void DataTree::apply(const SessionClosed& change, Reply& reply, const Notify& notify) {
  for (const std::string& path : change.ephemerals) apply(NodeRemoved{path}, reply, notify);
  sessions_.erase(change.session);
}

}  // namespace tenure::ensemble
