/// A whole key-value store for Tenure, as who brings one writes it: the values are in memory, and each batch that
/// changed them is a record of one file (record_file.hpp).
///
/// Two processes of one machine may use the file at once. It is never made smaller, and read from its beginning when it
/// is opened: fit for a few values that change some times a second, not for a queue's millions of keys.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tenure/spi/key_value.hpp>

#include "record_file.hpp"

namespace append_file_store {

struct Options {
  std::filesystem::path file;
  std::chrono::milliseconds lockWait{2000};  // others hold the lock for one write of theirs
};

class Driver final : public tenure::spi::IKeyValueDriver {
 public:
  explicit Driver(const Options& options) : file_(options.file, options.lockWait) {}

  std::string name() const override { return "append-only file " + file_.path().string(); }
  const tenure::spi::Limits& limits() const noexcept override { return limits_; }
  tenure::Result<void> connect(const std::stop_token& stop) override;
  tenure::Result<tenure::spi::Values> read(std::span<const tenure::spi::Name> names) override;
  tenure::Result<std::vector<tenure::spi::NamedValue>> scan(const tenure::spi::Range& range) override;
  tenure::Result<tenure::spi::Applied> apply(const tenure::spi::Batch& batch) override;
  tenure::Result<tenure::Findings> inspect() override;
  void release() noexcept override { file_.close(); }

 private:
  /// From here on nobody else writes, and what they have written is in `values_`.
  tenure::Result<RecordFile::Lock> enter(RecordFile::Access access, const std::stop_token& stop = {});
  void take(std::string_view payload);
  std::optional<std::string> valueOf(const tenure::spi::Name& name) const;
  bool isAsExpected(const tenure::spi::Write& write) const;

  const tenure::spi::Limits limits_;
  RecordFile file_;
  std::map<tenure::spi::Name, std::string> values_;  // in the order of names' bytes, as std::string compares them
};

}  // namespace append_file_store
