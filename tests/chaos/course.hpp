/// What the replicas have written down so far: who leads, and how far the work has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "history/line.hpp"

namespace tenure::chaos {

class Course {
 public:
  /// Follows the file from now on; it may not be there yet.
  void follow(const std::filesystem::path& history);
  /// Reads what has come since.
  void look();

  std::size_t commits() const noexcept { return commits_; }  // messages
  /// The newest term that committed anything.
  std::int64_t newestTerm() const noexcept { return newest_; }
  /// The token under which this process leads, 0 when it does not.
  std::int64_t tokenOf(const std::string& process) const;
  bool anybodyLeads() const;
  /// The process is gone, and can no longer say that its term is over.
  void ended(const std::string& process) { leading_[process] = 0; }

 private:
  struct Tail {
    std::filesystem::path file;
    std::streamoff read = 0;
  };
  void take(const std::string& text);
  void take(const history::Line& line);

  std::vector<Tail> tails_;
  std::map<std::string, std::int64_t> leading_;
  std::size_t commits_ = 0;
  std::int64_t newest_ = 0;
};

}  // namespace tenure::chaos
