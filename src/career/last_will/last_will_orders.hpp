/// What is said on the line between a candidate and its last-will helper, a packet each.
///
///     candidate ──► helper   will      what to do once the candidate is gone; replaces the one before
///                            revoke    nothing is to be done
///                            children  with a descriptor: LastWillOptions::childrenGone
///                            dismiss   the candidate leaves in order: end
///     helper ──► candidate   ready     I watch; with the number of this format, since helper and candidate may have
///                                      been installed at different times
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/coordination.hpp"
#include "election/will.hpp"
#include "tenure/candidate.hpp"

namespace tenure::last_will {

enum class Word : char { will = 'W', revoke = 'R', children = 'C', dismiss = 'D', ready = 'Y' };

/// The numbers of a will, to be read while its secrets stay packed.
struct Outline {
  std::chrono::milliseconds timeout{};
  bool resigns = false;
};

struct Orders {
  ZooKeeperOptions zookeeper;  // the digest only with a resignation: to close a session its key is enough
  LeftSession session;
  std::vector<MultiOp> resignation;
};

/// What a helper has to know for that will, and no more.
Orders ordersFor(const Will& will, ZooKeeperOptions zookeeper);

std::string encodeWill(const Orders& orders);
std::string encode(Word word);
std::string encodeReady();

std::optional<Word> wordOf(std::string_view packet);
std::optional<Outline> outlineOf(std::string_view packet);
std::optional<Orders> decodeWill(std::string_view packet);
bool isOurReady(std::string_view packet);

}  // namespace tenure::last_will
