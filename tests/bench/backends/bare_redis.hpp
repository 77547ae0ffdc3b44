/// The bare loop on Redis: hiredis, one script a batch.
#pragma once

#include <memory>
#include <string_view>

#include "bench/bare.hpp"
#include "tenure/redis.hpp"
#include "tenure/term.hpp"

struct redisContext;
struct redisReply;

namespace tenure::bench {

class BareRedis final : public BareStore {
 public:
  BareRedis(const redis::Options& options, const Term& term);

  std::vector<Row> fetch(std::size_t max) override;
  /// The effect of a message is a field of the election's state: its id, and its body.
  void commit(std::span<const Row> rows, bool ofOwnQueue) override;

 private:
  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;
  Reply ask(const std::vector<std::string_view>& command);

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
  const Term& term_;
  const std::string prefix_;
  std::string script_;  // its digest
  std::string fence_;   // as the last commit left it
  std::int64_t cursor_ = 0;
};

}  // namespace tenure::bench
