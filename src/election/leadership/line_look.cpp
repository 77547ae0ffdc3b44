#include "election/leadership/line_look.hpp"

#include "base/text.hpp"
#include "election/candidates.hpp"

namespace tenure {
void LineLook::look() {
  if (!at_.connected || look_ != 0 || at_.now.boot < due_) return;
  look_ = at_.newTicket();
  at_.act(action::List{look_, at_.paths.candidates});
}

LineLook::News LineLook::listed(Ticket ticket, const Result<std::vector<std::string>>& names, bool anew) {
  if (ticket == 0 || ticket != look_) return News::foreign;
  if (!names || names->size() > mostChildren) return lost();
  line_.list(*names, at_.own->name, anew);
  for (const std::string& name : line_.unanswered()) {
    const Ticket read = at_.newTicket();
    reads_.emplace(read, name);
    at_.act(action::Read{read, action::Subject::standby, at_.child(name), false});
  }
  return judge();
}

LineLook::News LineLook::read(Ticket ticket, const Result<Node>& node) {
  const auto entry = reads_.extract(ticket);
  if (!entry) return News::foreign;
  const std::string& name = entry.mapped();
  if (node) {
    const auto* first = line_.answer(name, *node, at_.now.boot);
    if (first != nullptr && !first->differs.empty() && at_.phase == ElectionPhase::leadership)
      at_.tell(SettingsDiffer{first->called(), escaped(first->differs)}, at_.token());
  } else if (node.error().is(Errc::notFound)) {
    line_.vanished(name);
  } else if (node.error().is(Errc::permissionDenied)) {
    at_.act(action::Stat{look_, name, at_.child(name)});  // everybody may know where it stands
    return News::awaiting;
  } else {
    return lost();
  }
  return judge();
}

LineLook::News LineLook::statted(Ticket ticket, const std::string& name, const Result<NodeStat>& stat) {
  if (ticket == 0 || ticket != look_) return News::foreign;
  if (!stat && !stat.error().is(Errc::notFound)) return lost();
  if (stat)
    line_.answer(name, Node{{}, *stat}, at_.now.boot);
  else
    line_.vanished(name);
  return judge();
}

LineLook::News LineLook::judge() {
  if (!line_.unanswered().empty()) return News::awaiting;
  look_ = 0;
  return News::seen;
}

LineLook::News LineLook::lost() {
  dropTickets();
  due_ = at_.now.boot + lookAgainAfter;
  return News::lost;
}

void LineLook::dropTickets() {
  look_ = 0;
  reads_.clear();
}

}  // namespace tenure
