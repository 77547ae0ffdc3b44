#include "career/last_will/last_will_orders.hpp"

#include "process/ipc_channel.hpp"

namespace tenure::last_will {
namespace {

/// Raised with every change of what is said here.
constexpr std::int64_t format = 1;

class Writer {
 public:
  explicit Writer(Word word) : bytes_(1, static_cast<char>(word)) {}

  Writer& number(std::int64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  void operator()(const CheckOp& op) { text(op.path).number(op.version); }
  void operator()(const CreateOp& op) { text(op.path).text(op.data).number(static_cast<std::int64_t>(op.mode)); }
  void operator()(const SetOp& op) { text(op.path).text(op.data).number(op.version); }
  void operator()(const RemoveOp& op) { text(op.path).number(op.version); }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Past the end everything is zero and empty, and complete() is false.
class Reader {
 public:
  explicit Reader(std::string_view packet) : rest_(packet.substr(std::min<std::size_t>(1, packet.size()))) {}

  std::int64_t number() {
    const auto value = readRecord<std::int64_t>(rest_);
    if (!value) return fail();
    rest_.remove_prefix(sizeof *value);
    return *value;
  }
  std::string text() {
    const auto size = static_cast<std::size_t>(number());
    if (size > rest_.size()) fail();
    const std::string value(rest_.substr(0, size));
    rest_.remove_prefix(value.size());
    return value;
  }
  std::int32_t version() { return static_cast<std::int32_t>(number()); }
  std::optional<MultiOp> op() {
    const std::int64_t kind = number();
    if (!good_) return std::nullopt;
    // Braces, so that the fields are read in their order.
    switch (kind) {
      case 0: return CheckOp{text(), version()};
      case 1: return CreateOp{text(), text(), static_cast<CreateMode>(number())};
      case 2: return SetOp{text(), text(), version()};
      case 3: return RemoveOp{text(), version()};
      default: fail(); return std::nullopt;
    }
  }
  bool complete() const noexcept { return good_ && rest_.empty(); }

 private:
  std::int64_t fail() noexcept {
    good_ = false;
    rest_ = {};
    return 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace

Orders ordersFor(const Will& will, ZooKeeperOptions zookeeper) {
  Orders orders{std::move(zookeeper), {will.session.id, will.session.key, will.session.server}, will.resignation};
  orders.zookeeper.sessionTimeout = will.session.timeout;
  if (will.resignation.empty()) orders.zookeeper.digest = {};
  return orders;
}

// The outline first: timeout, number of parts; then hosts, session, key, server, digest, and the parts.
std::string encodeWill(const Orders& orders) {
  Writer writer(Word::will);
  writer.number(orders.zookeeper.sessionTimeout.count()).number(static_cast<std::int64_t>(orders.resignation.size()));
  writer.text(orders.zookeeper.hosts).number(orders.session.id).text(orders.session.key.reveal());
  writer.text(orders.session.server);
  writer.text(orders.zookeeper.digest.reveal());
  for (const MultiOp& op : orders.resignation) {
    writer.number(static_cast<std::int64_t>(op.index()));
    std::visit(writer, op);
  }
  return writer.take();
}

std::string encode(Word word) { return Writer(word).take(); }
std::string encodeReady() { return Writer(Word::ready).number(format).take(); }

std::optional<Word> wordOf(std::string_view packet) {
  if (packet.empty()) return std::nullopt;
  for (const Word word : {Word::will, Word::revoke, Word::children, Word::dismiss, Word::ready})
    if (packet.front() == static_cast<char>(word)) return word;
  return std::nullopt;
}

std::optional<Outline> outlineOf(std::string_view packet) {
  if (!decodeWill(packet)) return std::nullopt;
  Reader reader(packet);
  const std::chrono::milliseconds timeout{reader.number()};
  return Outline{timeout, reader.number() > 0};
}

std::optional<Orders> decodeWill(std::string_view packet) {
  if (wordOf(packet) != Word::will) return std::nullopt;
  Reader reader(packet);
  Orders orders;
  orders.zookeeper.sessionTimeout = std::chrono::milliseconds{reader.number()};
  orders.zookeeper.allowShortSession = true;  // it has been negotiated
  const std::int64_t parts = reader.number();
  orders.zookeeper.hosts = reader.text();
  orders.session.id = reader.number();
  orders.session.key = Secret{reader.text()};
  orders.session.server = reader.text();
  orders.zookeeper.digest = Secret{reader.text()};
  for (std::int64_t i = 0; i < parts; ++i) {
    std::optional<MultiOp> op = reader.op();
    if (!op) return std::nullopt;
    orders.resignation.push_back(*std::move(op));
  }
  if (!reader.complete()) return std::nullopt;
  return orders;
}

bool isOurReady(std::string_view packet) {
  Reader reader(packet);
  return wordOf(packet) == Word::ready && reader.number() == format && reader.complete();
}

}  // namespace tenure::last_will
