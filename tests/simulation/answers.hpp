/// Handlers that answer with values, in virtual time: what a lane gives out is thought about in its order, or all of it
/// at the same time; now and then what thinks dies with all that it has in hand.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ghost.hpp"
#include "tenure/spi/answers.hpp"

namespace tenure::simulation {

class Process;
class Simulation;

class SimulatedAnswerer final : public IAnswerer {
 public:
  SimulatedAnswerer(Simulation& simulation, Process& process) : simulation_(simulation), process_(process) {}
  ~SimulatedAnswerer() override { drop(); }

  void attend(const Term& term) override;
  void leave() noexcept override;
  bool answersInOrder() const noexcept override;
  std::size_t ahead() override;
  std::optional<BootTime> awaySince() override { return std::nullopt; }
  void give(const Given& given) override;
  void tell(Giving ticket, const StateValues& values) override;
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override;
  void cut() override;

 private:
  struct Thought {
    Given given;
    Message message;  // without a mutant's mark
    int call = 0;
    bool hasBegun = false;
    BootTime due{};
    std::vector<std::string> needs{};
    std::map<std::string, std::string> told{};
  };

  void beginAll();
  Thought* next();
  Start startOf(const Thought& thought) const;
  void begin(Thought& thought);
  void end(Thought& thought, const Outcome& outcome);
  void drop() noexcept;
  void lose(bool charges);
  Answer answerOf(Thought& thought);
  Answer effectsOf(const Thought& thought) const;

  Simulation& simulation_;
  Process& process_;
  std::optional<Term> term_;
  std::deque<Thought> thoughts_;
  std::vector<Reply> replies_;
  std::map<MessageId, Answer> before_;  // of a mutant that answers as it has answered
};

}  // namespace tenure::simulation
