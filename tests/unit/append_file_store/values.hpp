/// A file of values and what drivers say of it, shared by the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "append_file_store/driver.hpp"
#include "support/program.hpp"
#include "support/results.hpp"

namespace tenure::test {

using Of = spi::Expected::Of;

inline spi::Name stateOf(const std::string& name) { return {spi::Table::state, name}; }

inline spi::Write setting(const std::string& name, std::optional<std::string> value, spi::Expected expected = {}) {
  return {.name = stateOf(name), .expected = std::move(expected), .value = std::move(value)};
}

class AppendFile : public testing::Test {
 protected:
  append_file_store::Driver open(std::chrono::milliseconds lockWait = std::chrono::minutes{1}) const {
    return append_file_store::Driver{{.file = file_, .lockWait = lockWait}};
  }
  static Result<spi::Applied> put(append_file_store::Driver& driver, const std::string& name,
                                  const std::string& value) {
    spi::Batch batch;
    batch.writes = {setting(name, value)};
    return driver.apply(batch);
  }
  static std::optional<std::string> get(append_file_store::Driver& driver, const std::string& name) {
    const std::vector<spi::Name> names{stateOf(name)};
    return driver.read(names).value().front();
  }

  TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "values";
};

}  // namespace tenure::test
