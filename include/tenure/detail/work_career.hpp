/// A career that hands its phases on to what does the work.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "tenure/career.hpp"

namespace tenure::detail {

class WorkCareer : public ILeaderCareer {
 public:
  void check(const std::stop_token& stop) final { work_->check(stop); }
  void prepare(const std::stop_token& stop) final { work_->prepare(stop); }
  void confirm(const std::stop_token& stop) final { work_->confirm(stop); }
  void inaugurate(const Term& term) final { work_->inaugurate(term); }
  void rest(const Term& term) final { work_->rest(term); }
  bool execute(const Term& term) final { return work_->execute(term); }
  void handOver(const Term& term) final { work_->handOver(term); }

 protected:
  explicit WorkCareer(std::unique_ptr<ILeaderCareer> work) : work_(std::move(work)) {}

 private:
  std::unique_ptr<ILeaderCareer> work_;
};

}  // namespace tenure::detail
