#include <tenure/testing/world.hpp>

namespace {

class Counting final : public tenure::ILeaderCareer {
 public:
  void inaugurate(const tenure::Term&) override { ++terms; }
  bool execute(const tenure::Term&) override { return false; }
  int terms = 0;
};

}  // namespace

/// A stranger's test of a failover: 0 when the second replica follows the first.
int main() {
  tenure::test::World world;
  Counting career;
  tenure::CandidateOptions options;
  options.election = "x";
  tenure::test::Process first(world, options, career);
  if (!world.advanceUntil([&] { return first.leads(); })) return 1;
  tenure::test::Process second(world, options, career);
  world.advance(std::chrono::seconds{10});
  first.kill();
  return world.advanceUntil([&] { return second.leads() && career.terms == 2; }) ? 0 : 2;
}
