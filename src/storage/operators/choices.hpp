/// What operators choose, as every backend reads it. Pure.
#pragma once

#include "tenure/spi/admin.hpp"

namespace tenure::storage {

/// Among the numbers that were given, if any were.
bool isNamed(const DeadLetterFilter& choice, std::int64_t number) noexcept;
bool isChosen(const DeadLetterFilter& choice, const DeadLetter& letter) noexcept;
bool isChosen(const LogChoice& choice, const LogLine& line) noexcept;

Error blocksNobody(const MessageId& id);

}  // namespace tenure::storage
