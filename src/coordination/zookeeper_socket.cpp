#include "coordination/zookeeper_socket.hpp"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tenure::zookeeper {
namespace {

thread_local bool closedOnExec = false;

}  // namespace

ClosedOnExec::ClosedOnExec() noexcept { closedOnExec = true; }
ClosedOnExec::~ClosedOnExec() { closedOnExec = false; }

}  // namespace tenure::zookeeper

extern "C" __attribute__((visibility("default"))) int socket(int domain, int type, int protocol) noexcept {
  using Call = int (*)(int, int, int);
  static const auto next = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "socket"));  // a tool may have put itself before it
  const int wanted = tenure::zookeeper::closedOnExec ? type | SOCK_CLOEXEC : type;
  if (next != nullptr) return next(domain, wanted, protocol);
  return static_cast<int>(syscall(SYS_socket, domain, wanted, protocol));
}
