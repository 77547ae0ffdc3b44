/// Elections, failovers and handovers in tests of your own: no server, no thread, and no waiting.
///
/// A World has an ensemble of three servers, a queue and a fenced store, all in memory, and a time that passes only
/// when the test lets it: an hour is over in milliseconds, and one seed gives one history. A Process is one of
/// your processes with its Candidate: it runs the election and the phases of production.
///
///   test::World world;
///   Invoices first(world.clock()), second(world.clock());  // your ILeaderCareer
///   test::Process a(world, {.election = ElectionName{"invoices"}, .id = CandidateId{"a"}}, first);
///   test::Process b(world, {.election = ElectionName{"invoices"}, .id = CandidateId{"b"}}, second);
///   world.advanceUntil([&] { return a.leads(); });
///   a.kill();
///   EXPECT_TRUE(world.advanceUntil([&] { return b.leads(); }));
///
/// Phases and handlers run on the test's thread, and take no time. Where they wait, they wait by World::clock(), and
/// time goes on; sleeping, or waiting for another thread, stops the world. Threads: the test's, for everything here.
#pragma once

#include <functional>
#include <memory>

#include "tenure/candidate.hpp"
#include "tenure/consumer.hpp"
#include "tenure/observer.hpp"
#include "tenure/testing/memory.hpp"

namespace tenure::test {

class WorldParts;

class World {
 public:
  explicit World(std::uint64_t seed = 1);
  /// The world's processes, and all that runs by its clock, must be gone.
  ~World();

  /// The time of all processes. The test itself may wait by it as well.
  const IClock& clock() const noexcept;
  void advance(Duration duration);
  /// Until `condition` holds, asked after each step; false when it does not within `limit`.
  bool advanceUntil(const std::function<bool()>& condition, Duration limit = std::chrono::minutes{5});

  /// Queue and store: what outlives the processes.
  memory::World& database() noexcept;
  /// A consumer of that queue, for one process: a Consumer in production. Throws as it does.
  std::unique_ptr<ILeaderCareer> consumer(Handler handler, const ConsumerOptions& options = {},
                                          IEventSink& events = noEvents());

  /// As tenure::observe(), with a session of its own.
  std::unique_ptr<IObservation> observe(const ElectionName& election, LeadershipCallback onChange,
                                        const std::string& root = "/tenure");

  /// The ensemble is gone for everybody, until it is back with all that it had.
  void stopServers();
  void startServers();

 private:
  friend class Process;
  std::unique_ptr<WorldParts> parts_;
};

/// One process in one election, from here until it has left, was killed, or is destroyed. Start it again by making
/// another one.
class Process {
 public:
  /// Borrows world, career and events. Of the options, hosts, digest and `onReload` mean nothing here.
  /// Throws as Candidate does.
  Process(World& world, CandidateOptions options, ILeaderCareer& career, IEventSink& events = noEvents());
  /// As kill().
  ~Process();
  Process(Process&&) = delete;

  /// A term of it is on, from before its inaugurate until its handOver has returned.
  bool leads() const noexcept;
  /// Of that term, 0 without one.
  FencingToken token() const noexcept;
  /// How it ended by itself; nullopt while it runs, and when it was killed.
  std::optional<ExitStatus> exitStatus() const noexcept;

  // As Candidate's:
  void stop() noexcept;
  void handOver() noexcept;
  void handOver(const CandidateId& to) noexcept;
  void wake() noexcept;

  /// kill -9: a phase that waits never returns, its stack is unwound. With a last will its session ends at once, else
  /// with its timeout. Called in a phase of its own, it does not return.
  void kill();
  /// SIGSTOP and SIGCONT: what it had begun goes on when it is thawed, however late that is.
  void freeze();
  void thaw();
  /// From the ensemble alone: queue and store are reached as ever.
  void cutOff();
  void reconnect();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::test
