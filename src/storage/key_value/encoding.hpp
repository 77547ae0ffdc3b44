/// How rows and the fence become named values. Pure.
///
///   a row      named by its key, its values behind each other: a number and ';', or a length, ':' and so many bytes
///   state      a handler's own value, as it is
///   a piece    rows of the log that one commit has added for one consumer, under the first one's key
///   the fence  "<sequence> <change> {…}": what every commit changes, then the claim as JSON
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/driver.hpp"
#include "tenure/spi/key_value.hpp"

namespace tenure::storage {

spi::Table kindOf(Table table) noexcept;
/// `key` may be the beginning of one.
spi::Name named(Table table, std::span<const Value> key);
/// Of a write whose number the store does not give.
spi::Name nameOf(const Write& write);
/// Names of rows whose keys go on behind these begin with it.
std::string prefixOf(Table table, const Row& key);

/// All but the key.
std::string textOf(Table table, const Row& row);
/// Takes a row off the front of `text`. Errors: storeFailed for a text that Tenure has not written.
Result<Row> takeRow(Table table, const std::string& name, std::string_view& text);
Result<Row> rowFrom(Table table, const std::string& name, std::string_view text);

/// Numbered one after the other.
Result<std::vector<Row>> pieceFrom(const std::string& name, std::string_view text);

/// The claim stays the same from commit to commit: its text is made once.
class FenceText {
 public:
  std::string of(const Fence& fence);

 private:
  FenceRow of_;
  std::string claim_;
};
/// What is not as we write it is told as damage.
FenceFound fenceFrom(const std::optional<std::string>& fence, const std::optional<std::string>& owner);
std::string textOf(const QueueOwner& owner);

}  // namespace tenure::storage
