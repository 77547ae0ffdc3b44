/// The career of `--worker`: the consumer's, of a replica that is ready only while its workers are.
#pragma once

#include "cli/worker/worker_pool.hpp"
#include "tenure/career.hpp"

namespace tenure::cli::worker {

class WorkerCareer final : public ILeaderCareer {
 public:
  /// Borrows both.
  WorkerCareer(ILeaderCareer& consumer, WorkerPool& pool) : consumer_(consumer), pool_(pool) {}

  void check(const std::stop_token& stop) override {
    consumer_.check(stop);
    requireWorkers(stop);
  }
  void prepare(const std::stop_token& stop) override {
    consumer_.prepare(stop);
    requireWorkers(stop);
  }
  void confirm(const std::stop_token& stop) override {
    consumer_.confirm(stop);
    requireWorkers(stop);
  }
  void inaugurate(const Term& term) override { consumer_.inaugurate(term); }
  bool execute(const Term& term) override { return consumer_.execute(term); }
  void rest(const Term& term) override { consumer_.rest(term); }
  void handOver(const Term& term) override { consumer_.handOver(term); }

 private:
  /// A handover would wait here, so a worker that is starting just now counts as not ready.
  void requireWorkers(const std::stop_token& stop) { pool_.areReady(BootTime{}, stop).value(); }

  ILeaderCareer& consumer_;
  WorkerPool& pool_;
};

}  // namespace tenure::cli::worker
