/// A little network in the kernel: machines, each a network namespace with one address, on one bridge in a namespace of
/// its own.
///
///     us ──┐ 10.77.0.254
///          bridge ──┬── machine 0  10.77.0.1
///                   ├── machine 1  10.77.0.2          lose(a, b)    what a sends to b vanishes, and nobody is told
///                   └── …                             refuse(a, b)  both are told: connections end, no new ones
///
/// Nothing of it has a name and nothing is visible from outside. The namespaces live by our open descriptors and by the
/// processes in them, so that the kernel takes all of it away however we end, and two networks never meet.
///
/// While it exists, the thread that made it is on the bridge, and so are the threads and programs that it starts.
/// Threads: the one that made it.
#pragma once

#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "support/loopback.hpp"
#include "support/program.hpp"

namespace tenure::test {

class Machines {
 public:
  /// Throws std::runtime_error where it cannot be: it takes root, `ip` and `ss`.
  explicit Machines(std::size_t count);
  ~Machines();
  Machines(const Machines&) = delete;
  Machines& operator=(const Machines&) = delete;

  std::size_t count() const noexcept { return machines_.size(); }
  static std::string address(std::size_t machine) { return "10.77.0." + std::to_string(machine + 1); }
  /// For Program: starts it there.
  int space(std::size_t machine) const { return machines_.at(machine).get(); }

  /// One way, silently: neither end hears of it.
  void lose(std::size_t from, std::size_t to);
  /// Both ways, and both are told: no route to host.
  void refuse(std::size_t a, std::size_t b);
  /// Does something on that machine, by a thread that is there, and waits for it.
  template <class Action>
  auto on(std::size_t machine, Action action) const {
    return std::async(std::launch::async,
                      [&] {
                        enter(space(machine));
                        return action();
                      })
        .get();
  }
  /// What `at` has open to `peer` ends there, at once; the peer hears of it if the way to it is open.
  void abort(std::size_t at, std::size_t peer);
  /// It has a connection open to `peer`.
  bool connected(std::size_t at, std::size_t peer) const;
  void restore(std::size_t a, std::size_t b);
  void restoreAll();

 private:
  static void enter(int space);
  void plug(std::size_t machine);
  void lead(std::size_t from, std::size_t to, const std::string& hardware);
  /// What it printed; throws when it failed.
  std::string run(int space, const Program::Arguments& command) const;

  TemporaryFolder folder_;
  Descriptor outside_;
  Descriptor bridge_;
  std::vector<Descriptor> machines_;
};

}  // namespace tenure::test
