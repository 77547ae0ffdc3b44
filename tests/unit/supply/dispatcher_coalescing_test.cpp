/// A dispatcher that coalesces: one message stands for others, and nobody is handed out before all that waits was seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher_scene.hpp"

namespace tenure::supply {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class DispatcherCoalescing : public DispatcherScene {
 protected:
  /// "a1" is message 1 of group a, "-k1" one without a group and with the key k.
  static Message messageOf(const std::string& id, std::int64_t position) {
    Message message;
    message.id.value = id;
    const bool grouped = id.front() != '-';
    if (grouped) message.group.value = id.substr(0, 1);
    message.headers = {{"key", id.substr(grouped ? 0 : 1, 1)}};
    message.position = position;
    return message;
  }
  void arrive(const std::vector<std::string>& ids) {
    std::vector<Message> messages;
    for (const std::string& id : ids) messages.push_back(messageOf(id, ++position));
    dispatcher.receive(std::move(messages));
  }
  void look(const std::vector<std::string>& ids = {}) {
    dispatcher.beginLook();
    arrive(ids);
    dispatcher.endLook();
  }
  std::vector<std::string> taken(std::size_t lane, BootTime now = start) {
    return idsOf(hold(lane, dispatcher.take(lane, 10, now)));
  }
  std::vector<std::string> suspects() { return idsOf(hold(0, dispatcher.takeSuspects(0, 10))); }
  /// The first that the lane holds.
  std::vector<Message> begin(std::size_t lane) {
    return dispatcher.begin(lane, held[lane].front().place(), GroupId{}, start);
  }
  /// All that the lane holds is done, or ended without a run.
  void finish(std::size_t lane, bool dropped = false) {
    done(dispatcher, lane, held[lane].size(), !dropped);
    dispatcher.release(lane);
  }
  static Dispatcher::Limits limits() { return {.messages = 100, .bytes = 100'000, .unrecordedWindow = 2}; }

  Dispatcher dispatcher{limits(), 4, Coalescer("key", 1'000)};
};

TEST_F(DispatcherCoalescing, GivesTheFirstOfThoseThatAskForTheSame) {
  look({"a1", "a2", "b1", "a3"});

  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
  EXPECT_THAT(idsOf(begin(1)), ElementsAre("a2", "a3"));
  EXPECT_EQ(dispatcher.window(), 2U) << "those that are stood for take no place";
}

TEST_F(DispatcherCoalescing, WhatComesBeforeARunBeginsIsStoodForAndNoneThatComesLater) {
  look({"a1"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  arrive({"a2"});
  EXPECT_THAT(idsOf(begin(1)), ElementsAre("a2"));
  arrive({"a3", "a4"});

  finish(1);
  look();

  EXPECT_THAT(taken(2), ElementsAre("a3"));
  EXPECT_THAT(idsOf(begin(2)), ElementsAre("a4"));
}

TEST_F(DispatcherCoalescing, GivesNothingBeforeALookHasShownWhatElseCame) {
  arrive({"a1"});
  EXPECT_TRUE(dispatcher.wantsLook());
  EXPECT_THAT(taken(1), IsEmpty());
  dispatcher.beginLook();
  EXPECT_THAT(taken(1), IsEmpty());
  arrive({"a2", "b1"});
  dispatcher.endLook();

  EXPECT_FALSE(dispatcher.wantsLook());
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  EXPECT_THAT(taken(2), ElementsAre("b1"));
}

TEST_F(DispatcherCoalescing, ALookThatBeganBeforeAGroupWasReleasedIsNotEnough) {
  look({"a1"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  begin(1);
  arrive({"a2"});
  dispatcher.beginLook();
  dispatcher.endLook();
  finish(1);

  EXPECT_THAT(taken(2), IsEmpty()) << "more may have come while it ran";
  look({"a3"});

  EXPECT_THAT(taken(2), ElementsAre("a2"));
  EXPECT_THAT(idsOf(begin(2)), ElementsAre("a3"));
}

TEST_F(DispatcherCoalescing, ThoseOfOneKeyAndNoGroupWaitForEachOther) {
  look({"-k1"});
  EXPECT_THAT(taken(1), ElementsAre("-k1"));
  begin(1);
  look({"-k2", "-m1", "-k3"});

  EXPECT_THAT(taken(2), ElementsAre("-m1"));
  EXPECT_THAT(taken(3), IsEmpty());
  finish(1);
  look();

  EXPECT_THAT(taken(3), ElementsAre("-k2"));
}

TEST_F(DispatcherCoalescing, TheHeirOfOneThatWasDroppedComesNext) {
  look({"a1", "a2", "a3"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));

  finish(1, true);
  look();

  EXPECT_THAT(taken(2), ElementsAre("a2"));
  EXPECT_THAT(idsOf(begin(2)), ElementsAre("a3"));
  finish(2);
  EXPECT_EQ(dispatcher.window(), 0U);
}

TEST_F(DispatcherCoalescing, NothingOfItsGroupIsHandedOutBehindOneThatStandsForOthers) {
  Message other = messageOf("a3", 3);
  other.headers = {{"key", "another"}};
  dispatcher.beginLook();
  dispatcher.receive(std::vector<Message>{messageOf("a1", 1), messageOf("a2", 2), other});
  dispatcher.endLook();

  EXPECT_THAT(taken(1), ElementsAre("a1"));
  finish(1, true);
  look();

  EXPECT_THAT(taken(1), ElementsAre("a2", "a3"));
}

TEST_F(DispatcherCoalescing, WhereNoHeirIsLeftEverythingHasToBeReadAgain) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < Coalescer::mostSuccessors + 2; ++i) ids.push_back("a" + std::to_string(i));
  look(ids);
  for (std::size_t i = 0; i <= Coalescer::mostSuccessors; ++i) {
    look();
    EXPECT_FALSE(dispatcher.mustBeReadAgain());
    EXPECT_FALSE(taken(1).empty());
    finish(1, true);
  }

  EXPECT_TRUE(dispatcher.mustBeReadAgain());
  look({"b1"});
  EXPECT_THAT(taken(2), IsEmpty());
  dispatcher.clear();
  look({"a65", "b1"});
  EXPECT_THAT(taken(2), ElementsAre("a65"));
}

TEST_F(DispatcherCoalescing, AnHeirIsNotInTheFrontWhereverItsPredecessorWas) {
  look({"a1", "a2"});
  EXPECT_THAT(taken(1), ElementsAre("a1"));
  finish(1, true);
  look();

  const Handout next = hold(1, dispatcher.take(1, 10, start));

  EXPECT_THAT(idsOf(next), ElementsAre("a2"));
  EXPECT_EQ(next.startable, 0U);
  park(dispatcher, 1, start);
  look();
  EXPECT_EQ(dispatcher.take(1, 10, start).startable, 0U);
}

TEST_F(DispatcherCoalescing, ReadsNoMoreThanAPageAtATime) {
  Dispatcher wide{{.messages = 5'000, .bytes = 100'000, .unrecordedWindow = 2}, 4, Coalescer("key", 1'000)};

  EXPECT_EQ(wide.room(), Coalescer::page);
}

TEST_F(DispatcherCoalescing, ASuspectStandsForOthersAndItsHeirIsOneAsWell) {
  dispatcher.suspect({}, 2, 0);
  arrive({"a1", "a2", "b1", "c1", "a3"});

  EXPECT_THAT(suspects(), ElementsAre("a1")) << "b1 may not come between it and its heir";
  finish(0, true);
  EXPECT_THAT(suspects(), ElementsAre("a2"));
  EXPECT_THAT(idsOf(begin(0)), ElementsAre("a3"));
  finish(0);
  EXPECT_THAT(suspects(), ElementsAre("b1"));
  finish(0);

  EXPECT_FALSE(dispatcher.hasSuspects());
  dispatcher.trust();
  look();
  EXPECT_THAT(taken(1), ElementsAre("c1"));
}

TEST_F(DispatcherCoalescing, OneThatMayHaveKilledStandsForNobody) {
  dispatcher.suspect({MessageId{"a2"}}, 0, 0);
  arrive({"a1", "a2", "a3"});

  EXPECT_THAT(suspects(), ElementsAre("a1", "a2"));
  finish(0);
  dispatcher.trust();
  look();
  EXPECT_THAT(taken(1), ElementsAre("a3"));
}

}  // namespace
}  // namespace tenure::supply
