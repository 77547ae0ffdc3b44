#include "election/view.hpp"

#include <algorithm>

namespace tenure {
namespace {

constexpr std::size_t mostChildren = 10'000;

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
  void readAll(const std::vector<std::string>& names) {
    view_.polluted = names.size() > mostChildren;
    outstanding_ = 2;
    get(paths_.meta, [](Reading& self, const Node& node) { self.view_.meta = parseMetaRecord(node.data); });
    get(paths_.marker, [](Reading& self, const Node& node) { self.view_.marker = parseMarkerRecord(node.data); });
    for (const std::string& name : names) {
      if (!candidateOf(name)) {
        view_.offenders.push_back({name, "no candidate's name"});
      } else if (!view_.polluted) {
        ++outstanding_;
        readCandidate(name);
      }
    }
  }

  void get(const std::string& path, void (*keep)(Reading&, const Node&)) {
    coordination_.get(path, {}, [self = shared_from_this(), keep](const Result<Node>& node) {
      if (node) keep(*self, *node);
      self->settle(node);
    });
  }

  void readCandidate(const std::string& name) {
    coordination_.get(paths_.candidate(name), {}, [self = shared_from_this(), name](const Result<Node>& node) {
      if (!node && node.error().is(Errc::permissionDenied)) return self->statCandidate(name);
      if (node) self->take(name, node->stat, parseCandidateRecord(node->data));
      self->settle(node);
    });
  }

  /// We may not read it; that it is there, everybody may know.
  void statCandidate(const std::string& name) {
    coordination_.exists(paths_.candidate(name), {}, [self = shared_from_this(), name](const Result<NodeStat>& stat) {
      if (stat) self->take(name, *stat, {});
      self->settle(stat);
    });
  }

  void take(const std::string& name, const NodeStat& stat, CandidateRecord record) {
    if (stat.ephemeralOwner == 0) {
      view_.offenders.push_back({name, "persistent"});
    } else {
      view_.candidates.push_back({name, *candidateOf(name), stat.czxid, stat.ephemeralOwner, std::move(record)});
    }
  }

  /// One reply less to wait for. What has vanished meanwhile, or is closed to us, is no failure.
  template <class T>
  void settle(const Result<T>& reply) {
    if (!reply && !reply.error().is(Errc::notFound) && !reply.error().is(Errc::permissionDenied))
      failure_ = reply.error();
    if (--outstanding_ > 0) return;
    if (failure_) return done_(*failure_);
    std::sort(view_.candidates.begin(), view_.candidates.end(),
              [](const CandidateView& a, const CandidateView& b) { return a.czxid < b.czxid; });
    done_(std::move(view_));
  }

  ICoordination& coordination_;
  ElectionPaths paths_;
  Callback<ElectionView> done_;
  ElectionView view_;
  std::size_t outstanding_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

const CandidateView* ElectionView::leader() const noexcept {
  if (!marker.known || !marker.busy) return nullptr;
  const auto found = std::find_if(candidates.begin(), candidates.end(),
                                  [this](const auto& candidate) { return candidate.czxid == marker.token.value; });
  return found == candidates.end() ? nullptr : &*found;
}

void readElection(ICoordination& coordination, const ElectionPaths& paths, Callback<ElectionView> done) {
  std::make_shared<Reading>(coordination, paths, std::move(done))->begin();
}

void requestHandover(ICoordination& coordination, const ElectionPaths& paths, std::string by, WallTime until,
                     Callback<FencingToken> done) {
  readElection(coordination, paths,
               [&coordination, paths, by = std::move(by), until, done = std::move(done)](Result<ElectionView> view) {
                 if (!view) return done(view.error());
                 if (view->leader() == nullptr) return done(Error{Errc::notFound, "nobody is in office"});
                 const FencingToken term = view->marker.token;
                 const std::string request = toJson(HandoverRequest{term, by, {}, until});
                 coordination.set(paths.handover, request, anyVersion, [done, term](const Result<NodeStat>& result) {
                   done(result ? Result<FencingToken>{term} : Result<FencingToken>{result.error()});
                 });
               });
}

}  // namespace tenure
