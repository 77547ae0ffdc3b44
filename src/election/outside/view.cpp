#include "election/outside/view.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "election/candidates.hpp"

namespace tenure {
namespace {

/// Collects the replies; alive for as long as one is outstanding.
class Reading : public std::enable_shared_from_this<Reading> {
 public:
  Reading(ICoordination& coordination, const ElectionPaths& paths, Callback<ElectionView> done)
      : coordination_(coordination), paths_(paths), done_(std::move(done)) {}

  void begin() {
    coordination_.children(paths_.candidates, {}, [self = shared_from_this()](Result<std::vector<std::string>> names) {
      if (!names) return self->done_(names.error());
      self->readAll(*names);
    });
  }

 private:
  using Where = std::vector<CandidateView> ElectionView::*;

  void readAll(const std::vector<std::string>& names) {
    view_.polluted = names.size() > mostChildren;
    outstanding_ = 6;
    get(paths_.meta, [](Reading& self, const Node& node) { self.view_.meta = parseMetaRecord(node.data); });
    get(paths_.marker, [](Reading& self, const Node& node) { self.view_.marker = parseMarkerRecord(node.data); });
    get(paths_.handover, [](Reading& self, const Node& node) { self.view_.request = parseHandoverRequest(node.data); });
    get(paths_.baton, [](Reading& self, const Node& node) { self.view_.baton = parseBatonRecord(node.data); });
    get(paths_.pause, [](Reading& self, const Node& node) { self.view_.pause = parsePause(node.data); });
    coordination_.children(paths_.observers, {},
                           [self = shared_from_this()](const Result<std::vector<std::string>>& observers) {
                             if (observers)
                               self->readEach(*observers, self->paths_.observers, &ElectionView::observers);
                             self->settle(observers);
                           });
    readEach(names, paths_.candidates, &ElectionView::candidates);
  }

  void readEach(const std::vector<std::string>& names, const std::string& folder, Where where) {
    for (const std::string& name : names) {
      if (!candidateOf(name)) {
        view_.offenders.push_back({name, "no candidate's name"});
      } else if (!view_.polluted) {
        ++outstanding_;
        readOne(name, folder + '/' + name, where);
      }
    }
  }

  void get(const std::string& path, void (*keep)(Reading&, const Node&)) {
    coordination_.get(path, {}, [self = shared_from_this(), keep](const Result<Node>& node) {
      if (node) keep(*self, *node);
      self->settle(node);
    });
  }

  void readOne(const std::string& name, const std::string& path, Where where) {
    coordination_.get(path, {}, [self = shared_from_this(), name, path, where](const Result<Node>& node) {
      if (!node && node.error().is(Errc::permissionDenied)) return self->statOne(name, path, where);
      if (node) self->take(name, node->stat, parseCandidateRecord(node->data), where);
      self->settle(node);
    });
  }

  /// We may not read it; that it is there, everybody may know.
  void statOne(const std::string& name, const std::string& path, Where where) {
    coordination_.exists(path, {}, [self = shared_from_this(), name, where](const Result<NodeStat>& stat) {
      if (stat) self->take(name, *stat, {}, where);
      self->settle(stat);
    });
  }

  void take(const std::string& name, const NodeStat& stat, CandidateRecord record, Where where) {
    if (stat.ephemeralOwner == 0) {
      view_.offenders.push_back({name, "persistent"});
    } else {
      (view_.*where).push_back({name, *candidateOf(name), stat.czxid, stat.ephemeralOwner, std::move(record)});
    }
  }

  /// One reply less to wait for. What has vanished meanwhile, or is closed to us, is no failure.
  template <class T>
  void settle(const Result<T>& reply) {
    if (!reply && !reply.error().is(Errc::notFound) && !reply.error().is(Errc::permissionDenied))
      failure_ = reply.error();
    if (--outstanding_ > 0) return;
    if (failure_) return done_(*failure_);
    if (view_.request && view_.request->term != view_.marker.token) view_.request.reset();
    if (view_.baton && !isOfThisTerm(*view_.baton)) view_.baton.reset();
    for (const Where where : {&ElectionView::candidates, &ElectionView::observers})
      std::sort((view_.*where).begin(), (view_.*where).end(),
                [](const CandidateView& a, const CandidateView& b) { return a.czxid < b.czxid; });
    done_(std::move(view_));
  }

  bool isOfThisTerm(const BatonRecord& baton) const noexcept {
    const bool isPassed = baton.state == BatonRecord::State::passed;
    return isPassed ? baton.czxid == view_.marker.token.value : baton.term == view_.marker.token;
  }

  ICoordination& coordination_;
  ElectionPaths paths_;
  Callback<ElectionView> done_;
  ElectionView view_;
  std::size_t outstanding_ = 0;
  std::optional<Error> failure_;
};

bool isCalled(const CandidateView& candidate, std::string_view id) {
  return candidate.record.id.value == id || candidate.uuid.value == id;
}

std::string inQuotes(std::string_view id) { return '"' + escaped(id) + '"'; }

/// For people: who could have been meant.
std::string standingIn(const ElectionView& view) {
  std::string text;
  for (const CandidateView& each : view.candidates)
    text += (text.empty() ? "" : ", ") + (each.record.known ? inQuotes(each.record.id.value) : each.uuid.value);
  return text.empty() ? "nobody is" : text + (view.candidates.size() == 1 ? " is" : " are");
}

/// Unless it changes. Who is still getting ready may become so.
std::string whyNever(const ElectionView& view, const CandidateView& candidate) {
  const CandidateRecord& record = candidate.record;
  const Readiness readiness = record.readiness == Readiness::checking ? Readiness::ready : record.readiness;
  return whyNotFollow(readiness, record.whyNot, view.differencesOf(candidate));
}

}  // namespace

const CandidateView* ElectionView::leader() const noexcept {
  if (!marker.known || !marker.busy) return nullptr;
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [this](const auto& candidate) { return candidate.czxid == marker.token.value; });
  return found == candidates.end() ? nullptr : &*found;
}

const CandidateView* ElectionView::waiting() const noexcept {
  if (!marker.busy || leader() != nullptr || candidates.empty()) return nullptr;
  return candidates.front().record.waitsSince == WallTime{} ? nullptr : &candidates.front();
}

std::string ElectionView::differencesOf(const CandidateView& candidate) const {
  const CandidateView* leads = leader();
  return leads == nullptr ? "" : tenure::differencesOf(leads->record.agreement, candidate.record.agreement);
}

const Pause* ElectionView::pauseAt(WallTime now) const noexcept {
  return pause && !pause->isOver(now) ? &*pause : nullptr;
}

bool ElectionView::isAtRest() const noexcept {
  const CandidateView* leads = leader();
  return pause && leads != nullptr && leads->record.rests == pause->since;
}

bool ElectionView::knows(std::string_view id) const {
  const auto isMeant = [id](const CandidateView& each) { return isCalled(each, id); };
  return std::any_of(candidates.begin(), candidates.end(), isMeant) ||
         std::any_of(observers.begin(), observers.end(), isMeant);
}

void readElection(ICoordination& coordination, const ElectionPaths& paths, Callback<ElectionView> done) {
  std::make_shared<Reading>(coordination, paths, std::move(done))->begin();
}

Result<CandidateUuid> findSuccessor(const ElectionView& view, std::string_view id) {
  std::map<std::string, const CandidateView*> meant;  // one candidate may have two znodes for a while
  for (const CandidateView& each : view.candidates)
    if (isCalled(each, id)) meant.emplace(each.uuid.value, &each);
  if (meant.size() > 1) {
    std::string uuids;
    for (const auto& [uuid, candidate] : meant) uuids += ' ' + uuid;
    return Error{Errc::notFound, std::to_string(meant.size()) + " candidates are called " + inQuotes(id) +
                                     "; say which, by its uuid:" + uuids};
  }
  if (meant.empty()) {
    const bool observes = std::any_of(view.observers.begin(), view.observers.end(),
                                      [id](const CandidateView& each) { return isCalled(each, id); });
    if (observes) return Error{Errc::notFound, inQuotes(id) + " is an observer and does not contend"};
    return Error{Errc::notFound, "no candidate is called " + inQuotes(id) + "; " + standingIn(view) + " in line"};
  }
  if (view.leader() != nullptr && view.leader()->uuid == meant.begin()->second->uuid)
    return Error{Errc::notFound, inQuotes(id) + " leads already"};
  const CandidateView& target = *meant.begin()->second;
  if (const std::string why = whyNever(view, target); !why.empty())
    return Error{Errc::notFound, inQuotes(id) + " cannot follow: " + why};
  return target.uuid;
}

Result<void> findAnySuccessor(const ElectionView& view) {
  std::string why;
  for (const CandidateView& each : view.candidates) {
    if (&each == view.leader()) continue;
    const std::string never = whyNever(view, each);
    if (never.empty()) return {};
    if (why.empty()) why = (each.record.known ? inQuotes(each.record.id.value) : each.uuid.value) + ": " + never;
  }
  if (why.empty()) return {};
  return Error{Errc::notFound, "nobody in line can follow; " + why};
}

void requestHandover(ICoordination& coordination, const ElectionPaths& paths, const HandoverRequest& request,
                     Callback<NodeStat> done) {
  coordination.set(paths.handover, toJson(request), anyVersion, std::move(done));
}

namespace {

/// Makes a znode that is absent: the first leaders of an election begin without it.
void put(ICoordination& coordination, const std::string& path, const std::string& data,
         const Callback<NodeStat>& done) {
  const auto createIt = [&coordination, path, data, done](const Result<NodeStat>& written) {
    if (written || !written.error().is(Errc::notFound)) return done(written);
    coordination.create(path, data, CreateMode::persistent, [&coordination, path, data, done](const auto& created) {
      if (created) return done(created->stat);
      if (!created.error().is(Errc::alreadyExists)) return done(created.error());
      coordination.set(path, data, anyVersion, done);
    });
  };
  coordination.set(path, data, anyVersion, createIt);
}

}  // namespace

void writePause(ICoordination& coordination, const ElectionPaths& paths, const std::optional<Pause>& pause,
                Callback<NodeStat> done) {
  put(coordination, paths.pause, pause ? toJson(*pause) : std::string(), done);
}

void readStuck(ICoordination& coordination, const ElectionPaths& paths, Callback<StuckRecords> done) {
  coordination.get(paths.stuck, nullptr, [done = std::move(done)](const Result<Node>& read) {
    if (!read && !read.error().is(Errc::notFound)) return done(read.error());
    done(read ? parseStuckRecords(read->data) : StuckRecords{});
  });
}

void writeStuck(ICoordination& coordination, const ElectionPaths& paths, const StuckRecords& records,
                Callback<NodeStat> done) {
  put(coordination, paths.stuck, toJson(records), done);
}

}  // namespace tenure
