// What is drawn of transactions that others send in.
#include "draw.hpp"
#include "plan.hpp"

namespace tenure::simulation {
namespace {

MessagePlan drawSending(const Plan& plan, int id, Draw& draw) {
  MessagePlan message;
  message.id = id;
  message.group = plan.messages[static_cast<std::size_t>(id) % plan.messages.size()].group;
  message.at = draw.oneIn(2) ? Duration{} : draw.time(0s, 20ms);
  message.handling = draw.time(10us, 5ms);
  if (draw.oneIn(20)) message.failures = draw.oneIn(3) ? 1000 : draw.number(1, 3);
  if (draw.oneIn(40)) message.kills = draw.number(1, 2);
  if (draw.oneIn(20)) message.verdict = draw.of({Outcome::Kind::skip, Outcome::Kind::reject});
  return message;
}

/// Most are quick; some stay open for so long that others' later places are seen before theirs.
StrangerPlan drawTransaction(const Plan& plan, int sender, bool isBusy, int& lastId, Draw& draw) {
  StrangerPlan one;
  one.sender = sender;
  one.pause = isBusy ? draw.time(0s, 60ms) : draw.time(0s, plan.chaos / 6);
  one.lasts = draw.oneIn(10) ? draw.time(200ms, 6s) : draw.oneIn(2) ? Duration{} : draw.time(0s, 40ms);
  if (draw.oneIn(2)) one.flush = draw.oneIn(8) ? draw.time(20ms, 300ms) : draw.time(0s, 10ms);
  if (draw.oneIn(5))
    one.end = draw.of({StrangerPlan::End::rollsBack, StrangerPlan::End::failsAtCommit, StrangerPlan::End::dies});
  const int messages = draw.oneIn(3) ? draw.number(2, 5) : 1;
  for (int i = 0; i < messages; ++i) one.messages.push_back(drawSending(plan, ++lastId, draw));
  return one;
}

}  // namespace

/// On a server's queue. Numbers and what is coalesced are judged by the order in which messages were sent; and where
/// keys grow old nobody sends.
void drawStrangers(Plan& plan, Draw draw) {
  const ConsumerOptions& options = plan.consumer;
  if (plan.queue == Queue::broker || plan.embeddedStore || options.followNumbers) return;
  if (options.coalesce != Coalesce::never || plan.quiet > Duration{} || draw.oneIn(4)) return;
  plan.promotedAtOnce = draw.of<std::size_t>({1, 3, 1000, 1000});
  int sender = 0;
  int lastId = firstOfStrangers;
  for (int senders = draw.number(1, 5); senders > 0; --senders) {
    Draw own = draw.fork();
    ++sender;
    const bool isBusy = own.oneIn(3);
    const Duration late = own.time(0s, plan.chaos / 2);
    const int transactions = own.number(1, isBusy ? 20 : 8);
    for (int i = 0; i < transactions; ++i) plan.strangers.push_back(drawTransaction(plan, sender, isBusy, lastId, own));
    if (isBusy) plan.strangers[plan.strangers.size() - static_cast<std::size_t>(transactions)].pause = late;
  }
  for (int open = draw.oneIn(2) ? draw.number(1, 3) : 0; open > 0; --open)
    plan.strangers.push_back({.sender = ++sender,
                              .pause = draw.time(0s, plan.chaos),
                              .lasts = draw.time(1s, plan.chaos / 2),
                              .messages = {}});
}

}  // namespace tenure::simulation
