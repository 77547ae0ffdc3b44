#include "testing/ensemble/ensemble_prepare.hpp"

#include <array>
#include <cstdio>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace tenure::ensemble {
namespace {

Error refusal(Errc code, std::string_view path, std::string_view why) {
  return Error(code, escaped(path) + ": " + std::string(why));
}

bool mayUse(const std::string& creator, const std::string& identity) noexcept {
  return creator.empty() || creator == identity;
}

std::string sequenced(const std::string& path, std::int32_t number) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%010d", number);
  return path + digits.data();
}

std::int32_t wrappingNext(std::int32_t number) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(number) + 1);
}

}  // namespace

struct Preparation::Attempt {
  const Request& request;
  Transaction& transaction;
};

Transaction Preparation::prepare(const Request& request, Zxid zxid) {
  Transaction transaction{.zxid = zxid, .origin = request.origin};
  auto before = outstanding_;
  Attempt attempt{request, transaction};
  const Result<void> added = std::visit(
      [&]<class Op>(const Op& op) -> Result<void> {
        if constexpr (requires { this->add(attempt, op); }) return add(attempt, op);
        TENURE_ASSERT(!"only writes are proposed");
      },
      request.operation);
  if (added) return transaction;
  outstanding_ = std::move(before);
  transaction.changes.clear();
  transaction.refused = added.error();
  return transaction;
}

void Preparation::committed(Zxid zxid) {
  std::erase_if(outstanding_, [zxid](const auto& entry) { return entry.second.zxid <= zxid; });
}

Result<Preparation::Outstanding> Preparation::record(const std::string& path) const {
  if (const auto found = outstanding_.find(path); found != outstanding_.end()) {
    if (found->second.exists) return found->second;
    return refusal(Errc::notFound, path, "no node");
  }
  const ZNode* node = tree_->find(path);
  if (node == nullptr) return refusal(Errc::notFound, path, "no node");
  return Outstanding{.version = node->version,
                     .creations = node->creations,
                     .children = node->children.size(),
                     .owner = node->owner,
                     .creator = node->creator};
}

void Preparation::note(const std::string& path, Outstanding record, Zxid zxid) {
  record.zxid = zxid;
  outstanding_[path] = std::move(record);
}

std::vector<std::string> Preparation::ephemeralsOf(SessionId session) const {
  std::set<std::string> paths;
  for (const std::string& path : tree_->ephemeralsOf(session)) paths.insert(path);
  for (const auto& [path, record] : outstanding_) {
    if (record.owner != session) continue;
    if (record.exists)
      paths.insert(path);
    else
      paths.erase(path);
  }
  return {paths.begin(), paths.end()};
}

Result<void> Preparation::add(Attempt& attempt, const CheckOp& op) {
  const auto node = record(op.path);
  if (!node) return node.error();
  if (!mayUse(node->creator, attempt.request.identity))
    return refusal(Errc::permissionDenied, op.path, "not authenticated");
  if (op.version != anyVersion && op.version != node->version)
    return refusal(Errc::versionMismatch, op.path, "bad version");
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const CreateOp& op) {
  const std::string parentPath = parentOf(op.path);
  auto parent = record(parentPath);
  if (!parent) return parent.error();
  const Request& request = attempt.request;
  if (!mayUse(parent->creator, request.identity)) return refusal(Errc::permissionDenied, op.path, "not authenticated");
  const bool sequential = op.mode == CreateMode::ephemeralSequential;
  const std::string path = sequential ? sequenced(op.path, parent->creations) : op.path;
  if (path == "/" || record(path)) return refusal(Errc::alreadyExists, path, "node exists");
  if (parent->owner.value != 0) return refusal(Errc::invalidArgument, path, "ephemerals cannot have children");

  const SessionId owner = op.mode == CreateMode::persistent ? SessionId{} : request.session;
  parent->creations = wrappingNext(parent->creations);
  ++parent->children;
  attempt.transaction.changes.push_back(NodeCreated{path, op.data, request.identity, owner, parent->creations});
  note(parentPath, *parent, attempt.transaction.zxid);
  note(path, {.owner = owner, .creator = request.identity}, attempt.transaction.zxid);
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const SetOp& op) {
  auto node = record(op.path);
  if (!node) return node.error();
  if (!mayUse(node->creator, attempt.request.identity))
    return refusal(Errc::permissionDenied, op.path, "not authenticated");
  if (op.version != anyVersion && op.version != node->version)
    return refusal(Errc::versionMismatch, op.path, "bad version");
  node->version = wrappingNext(node->version);
  attempt.transaction.changes.push_back(NodeSet{op.path, op.data, node->version});
  note(op.path, *node, attempt.transaction.zxid);
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const RemoveOp& op) {
  if (op.path == "/") return refusal(Errc::invalidArgument, op.path, "the root stays");
  const std::string parentPath = parentOf(op.path);
  auto node = record(op.path);
  if (!node) return node.error();
  auto parent = record(parentPath);
  TENURE_ASSERT(parent.has_value());
  // Deleting is a right on the parent; the znode's creator does not matter.
  if (!mayUse(parent->creator, attempt.request.identity))
    return refusal(Errc::permissionDenied, op.path, "not authenticated");
  if (op.version != anyVersion && op.version != node->version)
    return refusal(Errc::versionMismatch, op.path, "bad version");
  if (node->children > 0) return refusal(Errc::invalidArgument, op.path, "not empty");
  --parent->children;
  node->exists = false;
  attempt.transaction.changes.push_back(NodeRemoved{op.path});
  note(parentPath, *parent, attempt.transaction.zxid);
  note(op.path, *node, attempt.transaction.zxid);
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const Multi& multi) {
  for (std::size_t part = 0; part < multi.ops.size(); ++part) {
    const Result<void> added = std::visit([&](const auto& one) { return add(attempt, one); }, multi.ops[part]);
    if (!added) return refusalOf(part, multi.ops.size(), added.error());
  }
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const OpenSession& open) {
  attempt.transaction.changes.push_back(SessionOpened{open.session, open.timeout});
  return {};
}

Result<void> Preparation::add(Attempt& attempt, const CloseSession&) {
  SessionClosed closed{attempt.request.session, ephemeralsOf(attempt.request.session)};
  for (const std::string& path : closed.ephemerals) {
    // The parent's count changes as well, or a removal right behind would find the parent not empty.
    auto node = record(path);
    auto parent = record(parentOf(path));
    if (!node || !parent) continue;
    node->exists = false;
    --parent->children;
    note(path, *node, attempt.transaction.zxid);
    note(parentOf(path), *parent, attempt.transaction.zxid);
  }
  attempt.transaction.changes.push_back(std::move(closed));
  return {};
}

}  // namespace tenure::ensemble
