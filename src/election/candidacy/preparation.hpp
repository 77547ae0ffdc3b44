/// The election's own znodes: makes those that are missing, looks whether strangers may change them, and reads meta.
///
///     begin() ─► each path is there ─► each ACL is looked at ─► meta is read ─► done
///                                                                  ▲
///                                            lookAgain(), before each term
#pragma once

#include <vector>

#include "election/contention.hpp"

namespace tenure {

class Preparation {
 public:
  enum class News {
    foreign,   // not an answer to this
    awaiting,  // another answer is to come, or nothing has changed
    done,
    undone,   // meta is gone or damaged, or could not be read: see error()
    failed,   // see error()
    refused,  // by error(): trying again does not help
  };

  explicit Preparation(Contention& at) : at_(at) {}

  void begin();
  bool isDone() const noexcept { return isDone_; }
  /// The znodes may have been deleted since.
  void undo() noexcept { isDone_ = false; }
  /// An operator may have rebased the fence of any election since we were prepared: a term under the old generation
  /// would be refused by its store for good.
  void lookAgain();
  /// The connection went away under it.
  void dropQuestion() noexcept { flow_ = 0; }
  void dropTickets() noexcept { flow_ = look_ = 0; }

  News ensured(Ticket ticket, const Result<void>& result);
  News aclChecked(const input::AclChecked& in);
  News read(Ticket ticket, const Result<Node>& node);
  const Error& error() const noexcept { return error_; }

  const MetaRecord& meta() const noexcept { return meta_; }
  std::int32_t metaVersion() const noexcept { return metaVersion_; }

 private:
  bool isOurs(Ticket ticket) const noexcept { return ticket != 0 && ticket == flow_; }
  News next();
  News metaRead(const Result<Node>& node);
  News metaSeenAgain(const Result<Node>& node);
  News end(News news, Error error);

  Contention& at_;
  std::vector<Action> steps_;  // still to be done, last one first
  bool isDone_ = false;
  MetaRecord meta_;
  std::int32_t metaVersion_ = 0;
  Ticket flow_ = 0;
  bool isOptional_ = false;  // the path that is made sure of now
  Ticket look_ = 0;
  bool isAclTold_ = false;
  Error error_{};
};

}  // namespace tenure
