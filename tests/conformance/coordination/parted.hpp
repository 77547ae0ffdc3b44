/// Ensembles of three servers of which one can be parted from the others while its clients keep it, the real one and
/// the one in memory: the design rests on what such a server answers, and the simulation on that both answer alike.
#pragma once

#include "world.hpp"

namespace tenure::test {

class IPartedWorld : public IStage {
 public:
  static constexpr std::size_t servers = 3;
  static constexpr std::chrono::milliseconds tick{500};
  static constexpr int syncLimitTicks = 120;  // a minute until a server notices: the time of a test

  virtual std::unique_ptr<ICoordination> makeClient(const std::vector<std::size_t>& of,
                                                    std::chrono::milliseconds sessionTimeout) = 0;
  virtual std::size_t leader() = 0;
  /// Nothing passes between this server and the others, and nobody is told.
  virtual void isolate(std::size_t server) = 0;
  /// The others have given it up, and one of them leads. It does not know.
  virtual void electWithout(std::size_t server) = 0;
  virtual void heal() = 0;
};

std::unique_ptr<IPartedWorld> makePartedMemory();
std::unique_ptr<IPartedWorld> makePartedZooKeeper();

struct PartedBackend {
  const char* name;
  std::unique_ptr<IPartedWorld> (*makeWorld)();
};

}  // namespace tenure::test
