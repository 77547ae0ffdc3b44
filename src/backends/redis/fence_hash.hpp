/// The fence as it is kept: one hash, every value a string. What it means is judged in backends/shared/fence.hpp.
///
///   election, ensemble, path, candidate · generation, token: 20 digits, so that a script may compare them as text
///   seq: counts the changes under the token · by: who made the last of them, different for each
///   host, pid, start, boot, namespace, at: the holder, and when it claimed
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "backends/redis/reply.hpp"
#include "backends/shared/fence.hpp"

namespace tenure::redis {

/// 20 digits with leading zeros.
std::string padded(std::int64_t number);

/// What a script has to find before it changes anything: ensemble, generation, token, candidate, seq, by.
class ExpectedFence {
 public:
  ExpectedFence(const TermIdentity& term, std::int64_t sequence, std::string by);

  void appendTo(std::vector<std::string_view>& arguments) const {
    arguments.insert(arguments.end(), values_.begin(), values_.end());
  }
  /// Of comparedFields.
  bool isIn(const std::array<std::string_view, 7>& fields) const noexcept;
  const std::string& by() const noexcept { return values_[5]; }
  /// After a change of ours.
  void advance(std::int64_t sequence, std::string by);

 private:
  std::array<std::string, 6> values_;
};

/// From HGETALL: one, or none when the hash is absent.
std::vector<backends::StoredFence> storedFence(ReplyView hash);

/// Ensemble, generation, token, candidate, path, seq, by of what HGETALL read: for a script that writes only when
/// nothing has changed. Empty where absent.
std::array<std::string_view, 7> comparedFields(ReplyView hash);

/// Names and values of a row to write.
std::vector<std::string> fieldsOf(const FenceRow& row, std::string by);

}  // namespace tenure::redis
