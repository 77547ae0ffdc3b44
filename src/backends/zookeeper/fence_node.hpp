/// The fence as it is kept: one znode of JSON, whose version every change expects. Numbers that exceed a double are
/// decimal strings. Pure.
#pragma once

#include <string>
#include <string_view>

#include "backends/shared/fence.hpp"

namespace tenure::zookeeper {

struct FenceNode {
  FenceRow row;
  std::string by;                // who made the last change: different for each
  std::int64_t deadLetters = 0;  // the number of the newest ever
  std::int64_t logPieces = 0;    // likewise
  std::string damage;            // what is wrong with the text; empty for nothing
};

std::string fenceText(const FenceNode& fence);
FenceNode fenceFrom(std::string_view text);

/// The owner of the store; both empty before its first claim.
std::string ownerText(const backends::QueueOwner& owner);
backends::QueueOwner ownerFrom(std::string_view text);

}  // namespace tenure::zookeeper
