/// A dead letter as one znode's data: a line of JSON, in which names are escaped as in paths, then the body. Pure.
#pragma once

#include <string>
#include <string_view>

#include "tenure/store.hpp"

namespace tenure::zookeeper {

struct Letter {
  DeadLetter letter;
  ConsumerName consumer;
};

std::string letterText(const ConsumerName& consumer, const DeadLetter& letter);
/// Errors: storeFailed.
Result<Letter> letterFrom(std::int64_t number, std::string_view text);

}  // namespace tenure::zookeeper
