#include "career/last_will/last_will.hpp"

#include "career/last_will/last_will_helper.hpp"
#include "career/last_will/last_will_orders.hpp"

namespace tenure {

using last_will::Word;

LastWill::LastWill(AsioLoop& loop, LastWillOptions options, ZooKeeperOptions zookeeper, Emitter emit)
    : options_(std::move(options)),
      zookeeper_(std::move(zookeeper)),
      emit_(std::move(emit)),
      channel_(loop.context()),
      process_(loop.context()) {}

LastWill::~LastWill() { dismiss(); }

void LastWill::start(bool isUsual) {
  if (!options_.use.value_or(isUsual))
    return emit_(LastWillOff{options_.use ? "turned off by LastWillOptions::use (tenure: --no-last-will)"
                                          : "run() starts no helper unless LastWillOptions::use is true"});
  const Result<std::string> program =
      options_.program.empty() ? findHelper(lastWillProgram) : Result<std::string>(options_.program);
  constexpr const char* mend = "; name it with LastWillOptions::program (tenure: --last-will-helper)";
  if (!program && !options_.use) return emit_(LastWillOff{program.error().detail + mend});
  if (!program) return emit_(LastWillLost{program.error().detail + mend});
  Result<Helper> helper = Helper::start(*program);
  if (!helper) return emit_(LastWillLost{helper.error().detail + mend});
  helper_.emplace(*std::move(helper));
  channel_.assign(helper_->channel().descriptor());
  process_.assign(helper_->process().get());
  channel_.async_wait(Stream::wait_read, [this](const boost::system::error_code& error) {
    if (!error && helper_) heard();
  });
  process_.async_wait(Stream::wait_read, [this](const boost::system::error_code& error) {
    if (!error && helper_) lose("its process " + std::to_string(helper_->pid()) + " has ended");
  });
  if (options_.childrenGone >= 0) say(encode(Word::children), std::span(&options_.childrenGone, 1));
}

void LastWill::bequeath(const std::optional<Will>& will) {
  say(will ? encodeWill(last_will::ordersFor(*will, zookeeper_)) : encode(Word::revoke));
}

void LastWill::dismiss() noexcept {
  if (!helper_) return;
  static_cast<void>(helper_->channel().send(encode(Word::dismiss)));
  channel_.release();
  process_.release();
  helper_.reset();
}

/// A helper with old orders would be worse than none.
void LastWill::say(std::string_view packet, std::span<const int> descriptors) {
  if (!helper_) return;
  const Result<void> sent = helper_->channel().send(packet, descriptors);
  if (!sent) lose(sent.error().message());
}

/// The one thing it has to say; its end is seen by its pidfd.
void LastWill::heard() {
  const std::optional<IpcChannel::Packet> packet = helper_->channel().receive();
  if (!packet) return;
  if (last_will::isOurReady(packet->bytes)) return emit_(LastWillReady{helper_->pid()});
  lose("the program is of another version");
}

void LastWill::lose(std::string why) {
  helper_->kill();
  channel_.release();
  process_.release();
  helper_.reset();
  emit_(LastWillLost{std::move(why)});
}

}  // namespace tenure
