/// What the leader does with a write before it proposes it: checks it against the tree as it will be when everything
/// proposed before it is committed, names sequential znodes, and turns it into a transaction. Private to the room.
#pragma once

#include "testing/ensemble/ensemble_tree.hpp"

namespace tenure::ensemble {

class Preparation {
 public:
  explicit Preparation(const DataTree& tree) noexcept : tree_(&tree) {}

  Transaction prepare(const Request& request, Zxid zxid);
  /// Everything up to `zxid` is in the tree now.
  void committed(Zxid zxid);

 private:
  /// A znode as some outstanding proposal leaves it.
  struct Outstanding {
    Zxid zxid = 0;
    bool exists = true;
    std::int32_t version = 0;
    std::int32_t creations = 0;
    std::size_t children = 0;
    SessionId owner{};
    std::string creator{};
  };
  struct Attempt;

  Result<Outstanding> record(const std::string& path) const;
  void note(const std::string& path, Outstanding record, Zxid zxid);
  std::vector<std::string> ephemeralsOf(SessionId session) const;

  Result<void> add(Attempt& attempt, const CheckOp& op);
  Result<void> add(Attempt& attempt, const CreateOp& op);
  Result<void> add(Attempt& attempt, const SetOp& op);
  Result<void> add(Attempt& attempt, const RemoveOp& op);
  Result<void> add(Attempt& attempt, const Multi& multi);
  Result<void> add(Attempt& attempt, const OpenSession& open);
  Result<void> add(Attempt& attempt, const CloseSession& close);

  const DataTree* tree_;
  std::map<std::string, Outstanding> outstanding_;
};

}  // namespace tenure::ensemble
