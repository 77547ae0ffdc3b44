#include "election/machine/election.hpp"

#include <deque>

#include "election/machine/election_machine.hpp"
#include "election/outside/view.hpp"

namespace tenure {
namespace {

ElectionMachineSettings machineSettings(const ElectionSettings& settings, WallTime now) {
  ElectionMachineSettings machine;
  machine.election = settings.election;
  machine.root = settings.root;
  machine.self.id = settings.id;
  machine.self.process = settings.process;
  machine.self.version = settings.version;
  machine.self.started = now;
  machine.self.status = settings.statusAddress;
  machine.self.preference = settings.preference;
  machine.self.preferredAfter = settings.preferredAfter;
  machine.self.agreement = digestsOf(settings.agreement);
  machine.self.readiness = settings.readiness;
  machine.uuid = settings.uuid;
  machine.freshEnsemble = settings.freshEnsemble;
  machine.barrierLimit = settings.barrierLimit;
  machine.spawns = settings.spawns;
  machine.strictAcl = settings.strictAcl;
  machine.allowShortSession = settings.allowShortSession;
  machine.hosts = settings.hosts;
  return machine;
}

template <class T>
Result<void> outcomeOf(const Result<T>& result) {
  return result ? Result<void>{} : Result<void>{result.error()};
}

}  // namespace

class Election::Impl final : public ISessionObserver, public std::enable_shared_from_this<Impl> {
 public:
  Impl(ElectionSettings settings, ILoop& loop, ICoordination& coordination, IElectionListener& listener, Emitter emit,
       Random random)
      : machine_(machineSettings(settings, loop.wallNow()), random),
        paths_(settings.root, settings.election),
        livenessOf_(std::move(settings.livenessOf)),
        bequeath_(std::move(settings.bequeath)),
        loop_(loop),
        coordination_(coordination),
        listener_(&listener),
        emit_(std::move(emit)) {}

  void start() {
    coordination_.start(*this);
    feed(input::Tick{});
  }

  void detach() {
    listener_ = nullptr;
    loop_.cancel(timer_);
  }

  /// Inputs that arrive while actions are performed wait for their turn: the machine never sees two at once.
  void feed(Input input) {
    inputs_.push_back(std::move(input));
    if (feeding_) return;
    feeding_ = true;
    while (!inputs_.empty() && listener_ != nullptr) {
      const Input next = std::move(inputs_.front());
      inputs_.pop_front();
      for (const Action& action : machine_.on(next, Now{loop_.now(), loop_.wallNow()})) {
        if (listener_ == nullptr) break;
        std::visit([this](const auto& what) { perform(what); }, action);
      }
    }
    feeding_ = false;
    if (listener_ != nullptr) setTimer();
  }

  void handOver(FencingToken term, const CandidateId& to, const std::string& by) {
    readElection(coordination_, paths_, [weak = weak_from_this(), term, to, by](const Result<ElectionView>& view) {
      const auto self = weak.lock();
      if (!self || self->listener_ == nullptr) return;
      const Result<CandidateUuid> target = view ? findSuccessor(*view, to.value) : Result<CandidateUuid>(view.error());
      if (!target) return self->emit_(HandoverDeclined{by, to.value, target.error().detail}, term);
      self->feed(input::HandoverWanted{term, by, *target});
    });
  }

  std::string describe() const { return machine_.describe(); }

 private:
  void onConnected(const SessionInfo& session) override { feed(input::Connected{session}); }
  void onSuspended() override { feed(input::Suspended{}); }
  void onExpired() override { feed(input::Expired{}); }
  void onFatal(const Error& error) override { feed(input::Refused{error}); }

  /// A callback that feeds the input made of its argument, unless we are gone by then.
  template <class Make>
  auto answer(Make make) {
    return [weak = weak_from_this(), make = std::move(make)](auto&& reply) {
      if (const auto self = weak.lock()) self->feed(make(std::forward<decltype(reply)>(reply)));
    };
  }

  void perform(const action::EnsurePath& what) {
    const auto ensured = answer([ticket = what.ticket](Result<void> result) -> Input {
      return input::Ensured{ticket, std::move(result)};
    });
    const auto created = [ensured](const Result<CreatedNode>& result) {
      ensured(!result && result.error().is(Errc::alreadyExists) ? Result<void>{} : outcomeOf(result));
    };
    // Looked at first: where it is there already, we may well have no right to create it.
    coordination_.exists(what.path, {},
                         [weak = weak_from_this(), what, ensured, created](const Result<NodeStat>& found) {
                           const auto self = weak.lock();
                           if (!self) return;
                           if (found || !found.error().is(Errc::notFound)) return ensured(outcomeOf(found));
                           self->coordination_.create(what.path, what.data, CreateMode::persistent, created);
                         });
  }
  void perform(const action::CheckAcl& what) {
    coordination_.isWorldWritable(what.path, answer([what](Result<bool> result) -> Input {
                                    return input::AclChecked{what.ticket, what.path, std::move(result)};
                                  }));
  }
  void perform(const action::Read& what) {
    WatchCallback watch;
    if (what.watched)
      watch = answer([ticket = what.ticket](WatchEvent event) -> Input { return input::Changed{ticket, event}; });
    coordination_.get(what.path, std::move(watch), answer([ticket = what.ticket](Result<Node> node) -> Input {
                        return input::NodeRead{ticket, std::move(node)};
                      }));
  }
  void perform(const action::Enrol& what) {
    coordination_.create(what.path, what.data, CreateMode::ephemeralSequential,
                         answer([ticket = what.ticket](Result<CreatedNode> created) -> Input {
                           return input::Enrolment{ticket, std::move(created)};
                         }));
  }
  void perform(const action::List& what) {
    coordination_.children(what.path, {},
                           answer([ticket = what.ticket](Result<std::vector<std::string>> names) -> Input {
                             return input::Listed{ticket, std::move(names)};
                           }));
  }
  void perform(const action::Stat& what) {
    coordination_.exists(what.path, {},
                         answer([ticket = what.ticket, name = what.name](Result<NodeStat> stat) -> Input {
                           return input::Statted{ticket, name, std::move(stat)};
                         }));
  }
  void perform(const action::Write& what) {
    // Stamped before it goes out: the lease counts from here.
    const BootTime sentAt = loop_.now();
    coordination_.multi(what.ops,
                        answer([ticket = what.ticket, sentAt](const Result<std::vector<std::string>>& result) -> Input {
                          return input::Written{ticket, sentAt, outcomeOf(result)};
                        }));
  }
  void perform(const action::Remove& what) {
    coordination_.remove(what.path, anyVersion,
                         answer([ticket = what.ticket, sentAt = loop_.now()](Result<void> result) -> Input {
                           return input::Written{ticket, sentAt, std::move(result)};
                         }));
  }
  void perform(const action::AskLiveness& what) { feed(input::LivenessTold{what.ticket, livenessOf_(what.process)}); }

  void perform(const action::BecomeLeader& what) {
    term_ = std::make_shared<TermState>(what.identity, what.sessionTimeout, loop_);
    term_->lease().confirm(what.confirmedAt);
    term_->hold(Hold::unread);
    term_->followsRequest(what.askedAt);
    listener_->onElected(term_);
  }
  void perform(const action::ConfirmLease& what) { term_->lease().confirm(what.confirmedAt); }
  void perform(const action::ShortenLease& what) { term_->lease().shorten(what.sessionTimeout); }
  void perform(const action::LoseTerm& what) {
    term_->setEndReason(what.reason);
    term_->lease().end();
    listener_->onTermLost(what.reason);
  }
  void perform(const action::EndLease&) { term_->lease().end(); }
  void perform(const action::AskHandover& what) { listener_->onHandoverRequested(what.by, what.askedAt); }
  void perform(const action::HoldWork& what) {
    term_->hold(what.hold);
    listener_->onHold(what.hold);
  }
  void perform(const action::TellStandby&) { listener_->onStandby(); }
  void perform(const action::TellOffered&) { listener_->onOffered(); }
  void perform(const action::TellNext& what) { listener_->onNextInLine(what.next); }
  void perform(const action::CloseSession&) {
    coordination_.close([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->feed(input::Closed{});
    });
  }
  void perform(const action::ReportLeft&) { listener_->onLeft(); }
  void perform(const action::ReportFatal& what) { listener_->onFatal(what.error); }
  void perform(const action::Bequeath& what) {
    if (bequeath_) bequeath_(what.will);
  }
  void perform(const action::Tell& what) {
    const auto* trying = what.event.as<NotConnected>();
    if (trying == nullptr) return emit_(what.event, what.token);
    emit_(NotConnected{trying->hosts, trying->lasted, coordination_.whyNotConnected()}, what.token);
  }

  void setTimer() {
    const std::optional<BootTime> due = machine_.wakeAt();
    if (due == timerDue_) return;
    loop_.cancel(timer_);
    timer_ = 0;
    timerDue_ = due;
    if (!due) return;
    timer_ = loop_.after(std::max(*due - loop_.now(), Duration{0}), [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->timerDue_.reset();
      self->feed(input::Tick{});
    });
  }

  ElectionMachine machine_;
  const ElectionPaths paths_;
  std::function<Liveness(const ProcessIdentity&)> livenessOf_;
  std::function<void(const std::optional<Will>&)> bequeath_;
  ILoop& loop_;
  ICoordination& coordination_;
  IElectionListener* listener_;  // null: over
  Emitter emit_;

  std::shared_ptr<TermState> term_;
  std::deque<Input> inputs_;
  bool feeding_ = false;
  TimerId timer_ = 0;
  std::optional<BootTime> timerDue_;
};

Election::Election(ElectionSettings settings, ILoop& loop, ICoordination& coordination, IElectionListener& listener,
                   Emitter emit, Random random)
    : impl_(std::make_shared<Impl>(std::move(settings), loop, coordination, listener, std::move(emit), random)) {}
Election::~Election() { impl_->detach(); }

void Election::start() { impl_->start(); }
void Election::resign(Resignation how, bool failed) { impl_->feed(input::ResignAsked{how, failed}); }
void Election::handOver(FencingToken term, const CandidateId& to, const std::string& by) {
  impl_->handOver(term, to, by);
}
void Election::seekSuccessor(FencingToken term) {
  impl_->feed(input::HandoverWanted{term, "stop", std::nullopt, true});
}
void Election::seekRelief(FencingToken term) {
  impl_->feed(input::HandoverWanted{.term = term, .by = "outage", .to = std::nullopt, .relieves = true});
}
void Election::handOver(FencingToken term, const std::string& by) {
  impl_->feed(input::HandoverWanted{term, by, std::nullopt});
}
void Election::tellReadiness(Readiness readiness, const std::string& whyNot) {
  impl_->feed(input::ReadinessTold{readiness, whyNot});
}
void Election::tellRest(FencingToken term) { impl_->feed(input::RestTold{term}); }
void Election::leave(Resignation how) { impl_->feed(input::LeaveAsked{how}); }
std::string Election::describe() const { return impl_->describe(); }

}  // namespace tenure
