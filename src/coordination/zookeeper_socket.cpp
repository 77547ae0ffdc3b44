#include "coordination/zookeeper_socket.hpp"

#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

#include "base/text.hpp"

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

namespace tenure::zookeeper {
namespace {

// The server sends these, the header of the C client 3.8 does not name all of them.
constexpr int quotaExceededCode = -125;
constexpr int throttledCode = -127;

Errc codeOf(int rc, Effect effect) {
  switch (rc) {
    case ZNONODE: return Errc::notFound;
    case ZNODEEXISTS: return Errc::alreadyExists;
    case ZBADVERSION: return Errc::versionMismatch;
    case ZNOAUTH:
    case ZINVALIDACL: return Errc::permissionDenied;
    case ZAUTHFAILED: return Errc::authenticationFailed;
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED: return Errc::sessionExpired;
    case ZBADARGUMENTS:
    case ZNOTEMPTY:
    case ZNOCHILDRENFOREPHEMERALS: return Errc::invalidArgument;
    case ZUNIMPLEMENTED: return Errc::unsupported;
    case quotaExceededCode:
    case throttledCode: return Errc::quotaExceeded;
    case ZINVALIDSTATE:
    case ZNOTREADONLY: return Errc::unavailable;
    // Connection loss, timeout, closing and everything unheard of: a write may have been applied.
    default: return effect == Effect::writes ? Errc::outcomeUnknown : Errc::unavailable;
  }
}

}  // namespace

Error errorOf(int rc, Effect effect, std::string_view path) {
  return Error(codeOf(rc, effect), escaped(path) + ": " + zerror(rc));
}

Error notConnected(std::string_view path) {
  return Error(Errc::unavailable, escaped(path) + ": not connected to ZooKeeper, nothing was sent");
}

}  // namespace tenure::zookeeper
