#include "process/guardian_main.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "process/control_group.hpp"
#include "process/keeper.hpp"
#include "process/process_tree.hpp"
#include "process/requests.hpp"

namespace tenure {
namespace {

/// Out of the tool's session and process group, holding nothing of the tool's open.
void stepAside(const Line& line, const Descriptor& tool, const Descriptor& ending) {
  setsid();
  signal(SIGCHLD, SIG_DFL);  // were it ignored, the dead would not be reported
  closeAllBut({line.descriptor(), tool.get(), ending.get()});
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard < 3; ++standard) dup2(nothing, standard);
  prctl(PR_SET_NAME, "tenure-guardian");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

class GuardianMain {
 public:
  GuardianMain(Line line, Descriptor tool) : line_(std::move(line)), tool_(std::move(tool)) {
    sigset_t childEnded;
    sigemptyset(&childEnded);
    sigaddset(&childEnded, SIGCHLD);
    signals_ = Descriptor{signalfd(-1, &childEnded, SFD_CLOEXEC | SFD_NONBLOCK)};
  }

  /// When the keepers are gone as well.
  void removeGroups() {
    orphanedGroups_.insert(orphanedGroups_.end(), keepers_.begin(), keepers_.end());
    clearGroups();
  }

  /// Returns when the tool has closed the line or is dead.
  void serve() {
    while (true) {
      std::array<pollfd, 3> waited{pollfd{line_.descriptor(), POLLIN, 0}, pollfd{tool_.get(), POLLIN, 0},
                                   pollfd{signals_.get(), POLLIN, 0}};
      if (poll(waited.data(), waited.size(), strays_ ? lookAgainMs : -1) < 0) continue;
      if (waited[1].revents != 0) return;
      if (waited[2].revents != 0) reap();
      if (strays_) clearStrays();
      if (waited[0].revents == 0) continue;
      std::optional<Line::Packet> packet = line_.receive();
      if (!packet) return;
      startKeeper(std::move(*packet));
    }
  }

 private:
  static constexpr int lookAgainMs = 20;

  void startKeeper(Line::Packet packet) {
    const std::optional<SpawnRequest> request = decodeSpawnRequest(packet.bytes);
    if (!request || packet.descriptors.size() != 4) return;  // the child's line closes and says so
    std::vector<Descriptor>& passed = packet.descriptors;
    Line childLine{std::move(passed[0])};
    const pid_t keeper = fork();
    if (keeper == 0)
      keep(std::move(childLine), *request, {std::move(passed[1]), std::move(passed[2]), std::move(passed[3])});
    if (keeper > 0) return keepers_.push_back(keeper);
    static_cast<void>(childLine.sendRecord(ChildReport{.startError = errno}));
  }

  void reap() {
    signalfd_siginfo ignored{};
    while (read(signals_.get(), &ignored, sizeof ignored) > 0) {
    }
    int status = 0;
    for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
      if (std::erase(keepers_, pid) > 0 && status != 0) {  // it was killed, or could not kill
        orphanedGroups_.push_back(pid);
        strays_ = true;
      }
  }

  /// What a killed keeper left behind is a child of the guardian now.
  void clearStrays() {
    const std::vector<LiveProcess> strays = descendantsOf(getpid(), keepers_);
    for (const LiveProcess& stray : strays) signalProcess(stray, SIGKILL);
    clearGroups();
    strays_ = !strays.empty() || !orphanedGroups_.empty();
  }

  void clearGroups() { std::erase_if(orphanedGroups_, ControlGroup::removeAfter); }

  Line line_;
  Descriptor tool_;
  Descriptor signals_;
  std::vector<pid_t> keepers_;
  std::vector<pid_t> orphanedGroups_;  // by their keepers, which are gone
  bool strays_ = false;
};

}  // namespace

void guard(Line line, Descriptor tool, Descriptor ending) noexcept {
  stepAside(line, tool, ending);
  GuardianMain guardian(std::move(line), std::move(tool));
  guardian.serve();
  const bool nothingLeft = endDescendants();
  const bool said = nothingLeft && write(ending.get(), "", 1) == 1;
  guardian.removeGroups();
  _exit(said ? 0 : 1);
}

}  // namespace tenure
