#include <gtest/gtest.h>

#include <ostream>
#include <string_view>

#include "tenure/values.hpp"

namespace tenure {
namespace {

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};

TEST(Secret, Row40IsNoTextByItsType) {
  static_assert(!Printable<Secret>);
  static_assert(!std::is_convertible_v<Secret, std::string> && !std::is_convertible_v<Secret, std::string_view>);
  static_assert(!std::is_convertible_v<std::string, Secret>, "nor is a text one by accident");

  EXPECT_EQ(Secret("s3cret").reveal(), "s3cret");
}

}  // namespace
}  // namespace tenure
