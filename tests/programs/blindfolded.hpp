/// Runs another career under a term whose lease never ends, as on a machine whose clocks stood still with it: only the
/// fence is left to stop it.
#pragma once

#include <memory>

#include "lease/term_state.hpp"
#include "tenure/career.hpp"

namespace tenure::test {

class Blindfolded final : public ILeaderCareer {
 public:
  explicit Blindfolded(ILeaderCareer& career) : career_(career) {}
  void inaugurate(const Term& term) override {
    class StandingClock final : public IClock {
     public:
      BootTime now() const noexcept override { return BootTime{std::chrono::hours{1}}; }
      WallTime wallNow() const noexcept override { return {}; }
    };
    static const StandingClock clock;
    auto state = std::make_shared<TermState>(term.identity(), std::chrono::seconds{10}, clock);
    state->lease().confirm(BootTime{std::chrono::hours{1}});
    blind_ = std::make_unique<Term>(std::move(state));
    career_.inaugurate(*blind_);
  }
  bool execute(const Term&) override { return career_.execute(*blind_); }
  void handOver(const Term&) override { career_.handOver(*blind_); }

 private:
  ILeaderCareer& career_;
  std::unique_ptr<Term> blind_;
};

}  // namespace tenure::test
