#include "election/candidacy/preparation.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace tenure {
namespace {

/// The marker of a new election.
std::string idleMarker() {
  MarkerRecord marker;
  marker.busy = false;
  marker.barrierLimit = {};
  marker.lost.unknownUpTo = {};
  return toJson(marker);
}

/// For a meta that is absent. An ensemble that was emptied is another one: it must not get the name of the one that
/// this replica has known, or a store would take its low tokens for that one's.
EnsembleUuid nameOfNew(const EnsembleUuid& fresh, const EnsembleUuid& known) {
  if (known.value.empty()) return fresh;
  const std::string text = hexadecimal(digestOf(fresh.value + known.value));
  return {text.substr(0, 8) + "-" + text.substr(8, 4) + "-" + text.substr(12, 4) + "-" + text.substr(16, 4) + "-" +
          text.substr(20)};
}

}  // namespace

void Preparation::begin() {
  at_.phase = ElectionPhase::preparing;
  isDone_ = false;
  steps_.clear();
  for (const std::string& path : withAncestors(at_.paths.root)) steps_.push_back(action::EnsurePath{0, path, {}});
  steps_.push_back(action::EnsurePath{0, at_.paths.meta,
                                      toJson(MetaRecord{nameOfNew(at_.settings.freshEnsemble, meta_.ensemble), 1})});
  for (const std::string& path : {at_.paths.elections, at_.paths.election, at_.paths.candidates})
    steps_.push_back(action::EnsurePath{0, path, {}});
  if (at_.observes()) steps_.push_back(action::EnsurePath{0, at_.paths.observers, {}});
  steps_.push_back(action::EnsurePath{0, at_.paths.marker, idleMarker()});
  steps_.push_back(action::EnsurePath{0, at_.paths.handover, {}});
  if (!at_.observes()) steps_.push_back(action::EnsurePath{0, at_.paths.baton, {}});
  for (const std::string& path : {at_.paths.election, at_.paths.candidates, at_.paths.marker})
    steps_.push_back(action::CheckAcl{0, path});
  steps_.push_back(action::Read{0, action::Subject::meta, at_.paths.meta, false});
  std::reverse(steps_.begin(), steps_.end());
  next();
}

Preparation::News Preparation::next() {
  Action step = std::move(steps_.back());
  steps_.pop_back();
  flow_ = at_.newTicket();
  auto* ensure = std::get_if<action::EnsurePath>(&step);
  if (ensure != nullptr) ensure->ticket = flow_;
  isOptional_ = ensure != nullptr && ensure->path == at_.paths.baton;
  if (auto* check = std::get_if<action::CheckAcl>(&step)) check->ticket = flow_;
  if (auto* read = std::get_if<action::Read>(&step)) read->ticket = flow_;
  at_.actions.push_back(std::move(step));
  return News::awaiting;
}

Preparation::News Preparation::end(News news, Error error) {
  flow_ = 0;
  error_ = std::move(error);
  return news;
}

Preparation::News Preparation::ensured(Ticket ticket, const Result<void>& result) {
  if (!isOurs(ticket)) return News::foreign;
  // An election that was made for us, by an earlier version, goes without the baton.
  if (!result && isOptional_ && result.error().is(Errc::permissionDenied)) return next();
  // Somebody deletes what we create: from the top, after a while.
  return result ? next() : end(News::failed, result.error());
}

/// An ACL that we may not even read is not open to the world.
Preparation::News Preparation::aclChecked(const input::AclChecked& in) {
  if (!isOurs(in.ticket)) return News::foreign;
  if (!in.worldWritable && !in.worldWritable.error().is(Errc::permissionDenied))
    return end(News::failed, in.worldWritable.error());
  if (!in.worldWritable || !*in.worldWritable) return next();
  const std::string finding = in.path + " can be changed by anybody who reaches the ensemble";
  if (at_.settings.strictAcl) return end(News::refused, Error{Errc::configurationRefused, finding});
  if (!std::exchange(isAclTold_, true)) at_.tell(Warned{finding});
  return next();
}

void Preparation::lookAgain() {
  look_ = at_.newTicket();
  at_.act(action::Read{look_, action::Subject::meta, at_.paths.meta, false});
}

Preparation::News Preparation::read(Ticket ticket, const Result<Node>& node) {
  if (isOurs(ticket)) return metaRead(node);
  return ticket != 0 && ticket == look_ ? metaSeenAgain(node) : News::foreign;
}

Preparation::News Preparation::metaRead(const Result<Node>& node) {
  if (!node) return end(News::failed, node.error());
  const std::optional<MetaRecord> meta = parseMetaRecord(node->data);
  if (!meta)
    return end(News::failed,
               Error{Errc::invalidArgument,
                     at_.paths.meta + " holds no ensemble uuid and generation: \"" + escaped(node->data, 80) + '"'});
  flow_ = 0;
  meta_ = *meta;
  metaVersion_ = node->stat.version;
  isDone_ = true;
  return News::done;
}

Preparation::News Preparation::metaSeenAgain(const Result<Node>& node) {
  look_ = 0;
  const std::optional<MetaRecord> meta = node ? parseMetaRecord(node->data) : std::nullopt;
  if (!meta) {
    error_ = node ? Error{Errc::invalidArgument} : node.error();
    return News::undone;
  }
  meta_ = *meta;
  metaVersion_ = node->stat.version;
  return News::awaiting;
}

}  // namespace tenure
