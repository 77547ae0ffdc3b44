/// A control group with little memory: who asks for more in it meets the kernel's out-of-memory killer.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <utility>

#include "support/program.hpp"

namespace tenure::test {

class MemoryGroup {
 public:
  /// Of version 1 or 2, whichever has the memory controller. Nullopt where it is not ours to make.
  static std::optional<MemoryGroup> make(std::size_t bytes);
  MemoryGroup(MemoryGroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  MemoryGroup& operator=(MemoryGroup&&) = delete;
  /// Removes it; whatever was in it must be gone.
  ~MemoryGroup();

  /// The command that joins the group and then becomes `command`, so that all that it starts is in the group as well.
  Program::Arguments around(const Program::Arguments& command) const;

 private:
  explicit MemoryGroup(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace tenure::test
