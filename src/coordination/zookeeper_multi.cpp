#include <algorithm>

#include "base/text.hpp"
#include "coordination/zookeeper_requests.hpp"

namespace tenure::zookeeper {
namespace {

constexpr std::size_t sequenceDigits = 11;  // with a sign: the counter wraps to negative numbers

}  // namespace

Session::MultiRequest::MultiRequest(Session& owner, std::vector<MultiOp> parts,
                                    Callback<std::vector<std::string>> callback)
    : RequestFor(owner, Effect::writes, "multi", std::move(callback)),
      ops(std::move(parts)),
      raw(ops.size()),
      results(ops.size()) {
  createdPaths.reserve(ops.size());  // the client holds their addresses
  for (std::size_t i = 0; i < ops.size(); ++i) {
    results[i].err = ZRUNTIMEINCONSISTENCY;  // until its own answer comes
    std::visit([&](const auto& op) { add(raw[i], op); }, ops[i]);
  }
}

void Session::MultiRequest::add(zoo_op_t& part, const CheckOp& op) {
  zoo_check_op_init(&part, op.path.c_str(), op.version);
}

void Session::MultiRequest::add(zoo_op_t& part, const CreateOp& op) {
  std::vector<char>& created = createdPaths.emplace_back(op.path.size() + sequenceDigits + 1);
  zoo_create_op_init(&part, op.path.c_str(), op.data.data(), sizeOf(op.data), session->acl(), createFlags(op.mode),
                     created.data(), static_cast<int>(created.size()));
}

void Session::MultiRequest::add(zoo_op_t& part, const SetOp& op) {
  zoo_set_op_init(&part, op.path.c_str(), op.data.data(), sizeOf(op.data), op.version, nullptr);
}

void Session::MultiRequest::add(zoo_op_t& part, const RemoveOp& op) {
  zoo_delete_op_init(&part, op.path.c_str(), op.version);
}

Result<std::vector<std::string>> Session::MultiRequest::outcome(int rc) const {
  const auto failed = std::find_if(results.begin(), results.end(), [](const zoo_op_result_t& part) {
    return part.err != ZOK && part.err != ZRUNTIMEINCONSISTENCY;
  });
  if (failed != results.end()) {
    const auto index = static_cast<std::size_t>(failed - results.begin());
    const std::string& where = std::visit([](const auto& op) -> const std::string& { return op.path; }, ops[index]);
    return refusalOf(index, ops.size(), errorOf(failed->err, effect, where));
  }
  const bool allDone = std::all_of(results.begin(), results.end(), [](const auto& part) { return part.err == ZOK; });
  if (rc != ZOK || !allDone) return errorOf(rc != ZOK ? rc : ZRUNTIMEINCONSISTENCY, effect, path);
  std::vector<std::string> created;
  for (const std::vector<char>& name : createdPaths) created.emplace_back(name.data());
  return created;
}

}  // namespace tenure::zookeeper
