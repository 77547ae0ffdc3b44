/// The queue as a process sees it: a table beside the store, a log acknowledged after the commit, or a broker's queue.
#pragma once

#include "tenure/spi/source.hpp"
#include "waiting_room.hpp"

namespace tenure::simulation {

class Process;

class Source final : public IMessageSource {
 public:
  Source(Process& process, IMessageSource& table);

  Result<void> attach(const Term& term) override;
  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;
  Result<void> tend() override;
  bool sharesTransactionsWith(const IFencedStore& store) const noexcept override;
  Result<void> acknowledge(std::span<const Message> messages) override;
  void detach() noexcept override;

  /// A sender has told of an earlier time.
  void wake() noexcept { promoter_.wake(); }
  /// A stranger has sent, and seen that the reader sleeps.
  void call();
  WaitingRoom& room() noexcept { return room_; }

  /// What this process was given and has not seen acknowledged, by id; for a mutant that acknowledges early.
  std::vector<Message> given(std::span<const MessageId> ids) const;
  /// As it was delivered: who acknowledges may have kept no more of it than its place.
  const Message& givenAs(const Message& message) const;

 private:
  Result<std::vector<Message>> fetchNow(std::size_t max, BootTime deadline, const std::stop_token& stop);
  Result<void> sleep(BootTime deadline, const std::stop_token& stop);
  void sleepUntil(BootTime until, const std::stop_token& stop);
  Result<std::vector<Message>> look(std::size_t max, const std::stop_token& stop);
  void dropReturned(std::vector<Message>& messages);
  void misplace(Message& message) const;
  Result<void> acknowledgeNow(std::span<const Message> messages);

  Process& process_;
  IMessageSource& table_;
  std::vector<Message> given_;
  WaitingRoom room_;
  scheduled::Promoter promoter_;
  bool isCalled_ = false;
  std::stop_source callUp_;  // of the sleep of the moment
  BootTime attachedAt_{};
};

}  // namespace tenure::simulation
