/// Requests under way in a session, from the call to the client's completion. Private to the room.
#pragma once

#include "coordination/zookeeper_session.hpp"

namespace tenure::zookeeper {

struct Session::Request {
  Request(Session& owner, Effect whatItDoes, std::string where)
      : session(&owner), effect(whatItDoes), path(std::move(where)) {}
  virtual ~Request() = default;
  /// Answers with an error; the request stays, without a callback, until the client has let go of it.
  virtual void abandon(int rc) = 0;

  Session* session;
  Effect effect;
  std::string path;
  WatchId watch = 0;
  bool keepsWatchWhenAbsent = false;
  bool abandoned = false;
};

template <class T>
struct Session::RequestFor : Request {
  RequestFor(Session& owner, Effect whatItDoes, std::string where, Callback<T> callback)
      : Request(owner, whatItDoes, std::move(where)), done(std::move(callback)) {}
  void abandon(int rc) override {
    abandoned = true;
    if (done) session->refuse(std::exchange(done, nullptr), errorOf(rc, effect, path));
  }

  Callback<T> done;
};

/// Owns what the client's parts of a multi point to.
struct Session::MultiRequest final : RequestFor<std::vector<std::string>> {
  MultiRequest(Session& owner, std::vector<MultiOp> parts, Callback<std::vector<std::string>> callback);
  /// The whole is as good as its worst part: the failing part has its code, earlier ones ZOK although rolled back,
  /// later ones ZRUNTIMEINCONSISTENCY.
  Result<std::vector<std::string>> outcome(int rc) const;

  std::vector<MultiOp> ops;
  std::vector<zoo_op_t> raw;
  std::vector<zoo_op_result_t> results;
  std::vector<std::vector<char>> createdPaths;

 private:
  void add(zoo_op_t& part, const CheckOp& op);
  void add(zoo_op_t& part, const CreateOp& op);
  void add(zoo_op_t& part, const SetOp& op);
  void add(zoo_op_t& part, const RemoveOp& op);
};

int createFlags(CreateMode mode) noexcept;
/// As the client wants it.
inline int sizeOf(const std::string& data) noexcept { return static_cast<int>(data.size()); }

}  // namespace tenure::zookeeper
