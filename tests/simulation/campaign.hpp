/// Many seeds, one after the other; what is printed of them; and how a failing one is made smaller.
#pragma once

#include <cstdint>
#include <optional>

#include "mutant.hpp"
#include "plan.hpp"

namespace tenure::simulation {

struct Orders {
  std::optional<std::uint64_t> seeds;
  std::uint64_t from = 1;
  std::optional<std::uint64_t> seed;
  bool twice = false;
  bool requireCoverage = false;
  bool trace = false;
  bool plan = false;
  bool shrink = false;
  bool mutants = false;
  Mutant mutant = Mutant::none;
};

/// The exit status.
int obey(const Orders& orders);

/// The smallest plan found that breaks the same promise.
Plan shrink(Plan plan, Mutant mutant);

}  // namespace tenure::simulation
