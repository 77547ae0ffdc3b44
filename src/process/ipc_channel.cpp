#include "process/ipc_channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "process/descriptor.hpp"

namespace tenure {
namespace {

constexpr std::size_t maxDescriptors = 8;

}  // namespace

Result<std::pair<IpcChannel, IpcChannel>> IpcChannel::makePair() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return failed("socketpair");
  return std::pair{IpcChannel{Descriptor{ends[0]}}, IpcChannel{Descriptor{ends[1]}}};
}

void IpcChannel::closeFirst() noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  constexpr rlim_t high = 1'000;  // select() knows those below 1024
  const auto from = static_cast<int>(std::min(high, limit.rlim_cur / 2));
  if (Descriptor moved{fcntl(end_.get(), F_DUPFD_CLOEXEC, from)}) end_ = std::move(moved);
}

Result<void> IpcChannel::send(std::string_view bytes, std::span<const int> descriptors) const {
  iovec content{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(maxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  while (sendmsg(end_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
    if (errno != EINTR) return failed("send");
  return {};
}

bool IpcChannel::otherEndGone() const noexcept {
  pollfd end{end_.get(), 0, 0};
  return poll(&end, 1, 0) == 1 && (end.revents & POLLHUP) != 0;
}

std::optional<IpcChannel::Packet> IpcChannel::receive() const {
  Packet packet;
  packet.bytes.resize(maxPacketBytes);
  iovec content{packet.bytes.data(), packet.bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(maxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t received = 0;
  // ECONNRESET: the other end has closed without reading all of ours; what it said before is still to be had.
  while ((received = recvmsg(end_.get(), &message, MSG_CMSG_CLOEXEC)) < 0)
    if (errno != EINTR && errno != ECONNRESET) return std::nullopt;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
      packet.descriptors.emplace_back(number);
    }
  }
  if (received == 0) return std::nullopt;  // no packet of ours is empty
  packet.bytes.resize(static_cast<std::size_t>(received));
  return packet;
}

}  // namespace tenure
