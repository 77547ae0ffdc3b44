#include "backends/redis/apply_request.hpp"

#include <algorithm>

#include "backends/redis/reply.hpp"

namespace tenure::redis {
namespace {

using spi::Expected;
using spi::Table;

/// Values that a script takes off its arguments at once; Lua's stack has room for some thousands.
constexpr std::size_t mostValues = 2000;
constexpr std::array hashTables{Table::owner, Table::counter, Table::attempt, Table::inWork, Table::deadLetter,
                                Table::log,   Table::state,   Table::fact,    Table::turn,   Table::kept};

constexpr std::size_t placeOf(Table table) noexcept { return static_cast<std::size_t>(table); }

}  // namespace

ApplyRequest::ApplyRequest(const spi::Batch& batch, const Keys& keys, std::string_view keep, std::string_view now,
                           std::span<const std::string> headers)
    : batch_(batch), keys_(keys.fixed.begin(), keys.fixed.end()), own_(keys) {
  for (std::size_t place = 0; place < batch.writes.size(); ++place) sort(place);
  placeKeys(keys);
  arguments_.reserve(4 * batch.writes.size() + 64);
  arguments_ = {{}, keep, now};
  expectAll();
  lookAhead();
  close(open("write", 0));
  // Sends first, acknowledgements and fence last: a script that fails between its writes loses nothing (scripts.hpp).
  append(headers);
  writeWaiting();
  writeTables();
  writeKeys();
  acknowledge();
  writeFence();
  arguments_[0] = touched_;
}

void ApplyRequest::sort(std::size_t place) {
  const spi::Write& write = batch_.writes[place];
  const Deed deed = !write.isWritten ? nothing : write.value ? put : remove;
  if (write.name.table == Table::key) {
    ranges_[static_cast<std::size_t>(write.expected.of) * deeds + deed].writes.push_back(place);
    return;
  }
  if (write.name.table == Table::fence) return fence_.push_back(place);
  Group& group = groupOf(write.name);
  if (write.expected.of == Expected::Of::absence) group.expectNone.push_back(place);
  if (write.expected.of == Expected::Of::value) group.expectValue.push_back(place);
  if (deed == put) group.put.push_back(place);
  if (deed == remove) group.removed.push_back(place);
}

ApplyRequest::Group& ApplyRequest::groupOf(const spi::Name& name) {
  if (!isNamedByQueue(name.table)) return groups_.at(placeOf(name.table));
  const std::string_view of = queueOf(name);
  Queue& queue = queues_[of == own_.tag ? std::string_view() : of];
  return name.table == Table::waiting ? queue.waiting : queue.fired;
}

void ApplyRequest::placeKeys(const Keys& keys) {
  for (KeyRange& range : ranges_) {
    range.first = keys_.size() + 1;
    for (const std::size_t place : range.writes) keys_.push_back(made(keys.id(batch_.writes[place].name.text)));
  }
  lastId_ = keys_.size();
  for (std::size_t i = 0; i < batch_.enqueued.size(); ++i) queues_[batch_.enqueued[i].queue].messages.push_back(i);
  for (auto& [name, queue] : queues_) {
    if (name.empty()) continue;
    const Keys others{name};
    queue.first = keys_.size() + 1;
    for (std::size_t place = 0; place < Keys::toSend; ++place) keys_.push_back(made(others.fixed[place]));
  }
}

void ApplyRequest::expectAll() {
  const auto name = [this](const spi::Write& write) { arguments_.push_back(fieldOf(write.name)); };
  const auto expected = [this](const spi::Write& write) { arguments_.push_back(write.expected.value); };
  const auto both = [&](const spi::Write& write) { name(write), expected(write); };
  const auto check = [&](std::string_view what, std::size_t key, const Places& writes, const Values& values) {
    sections(what, key, writes, values);
    expecting_.insert(expecting_.end(), writes.begin(), writes.end());
  };
  for (const std::size_t place : fence_) {
    const Expected& wanted = batch_.writes[place].expected;
    if (wanted.of == Expected::Of::value) check("key-is", Keys::fence, {place}, expected);
    if (wanted.of == Expected::Of::absence) check("key-none", Keys::fence, {place}, {});
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const KeyRange& range = ranges_[i];
    const auto of = static_cast<Expected::Of>(i / deeds);
    if (of == Expected::Of::value) check("key-is", range.first, range.writes, expected);
    if (of == Expected::Of::absence) check("key-none", range.first, range.writes, {});
  }
  const auto ofHash = [&](std::size_t key, const Group& group) {
    if (!group.expectNone.empty() || !group.expectValue.empty()) touch(key, 'h');
    check("none", key, group.expectNone, name);
    check("is", key, group.expectValue, both);
  };
  for (const Table table : hashTables) ofHash(hashOf(table), groups_[placeOf(table)]);
  for (const auto& [queue, of] : queues_) {
    ofHash(of.first + (Keys::waiting - Keys::queue), of.waiting);
    ofHash(of.first + (Keys::fired - Keys::queue), of.fired);
  }
}

/// Checks of the counters and streams that the writes will raise.
void ApplyRequest::lookAhead() {
  if (keysMade() > 0) {
    touch(Keys::keyCount, 'h');
    close(open("countable", Keys::keyCount));
  }
  for (const auto& [name, queue] : queues_) {
    for (std::size_t place = 0; place < Keys::toSend; ++place) touch(queue.first + place, "hshhzsh"[place]);
    const std::size_t head = open("room", queue.first);
    arguments_.push_back(made(std::to_string(queue.messages.size())));
    close(head);
  }
}

void ApplyRequest::writeTables() {
  const auto value = [this](const spi::Write& write) { arguments_.push_back(*write.value); };
  const auto name = [this](const spi::Write& write) { arguments_.push_back(write.name.text); };
  const auto both = [&](const spi::Write& write) { name(write), value(write); };
  const auto scored = [&](const spi::Write& write) { arguments_.push_back("0"), name(write); };
  for (const Table table : hashTables) {
    const Group& group = groups_[placeOf(table)];
    if (group.put.empty() && group.removed.empty()) continue;
    touch(hashOf(table), 'h');
    sections("put", hashOf(table), group.put, both);
    sections("remove", hashOf(table), group.removed, name);
    if (!isOrdered(table)) continue;
    touch(namesOf(table), 'z');
    sections("name", namesOf(table), group.put, scored);
    sections("forget", namesOf(table), group.removed, name);
  }
}

std::size_t ApplyRequest::keysMade() const noexcept {
  std::size_t made = 0;
  for (std::size_t i = put; i < ranges_.size(); i += deeds)
    if (static_cast<Expected::Of>(i / deeds) != Expected::Of::value) made += ranges_[i].writes.size();
  return made;
}

void ApplyRequest::writeKeys() {
  const auto value = [this](const spi::Write& write) { arguments_.push_back(*write.value); };
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const KeyRange& range = ranges_[i];
    if (i % deeds == put) sections("keep", range.first, range.writes, value);
    if (i % deeds == remove) sections("delete", range.first, range.writes, {});
  }
  if (keysMade() == 0) return;
  const std::size_t head = open("count", Keys::keyCount);
  arguments_.push_back(made(std::to_string(keysMade())));
  close(head);
}

void ApplyRequest::acknowledge() {
  if (!batch_.acknowledged.empty()) touch(Keys::messages, 's');
  for (std::size_t from = 0; from < batch_.acknowledged.size(); from += mostValues) {
    const std::size_t head = open("done", Keys::messages);
    for (std::size_t i = from; i < std::min(from + mostValues, batch_.acknowledged.size()); ++i)
      arguments_.push_back(made(entryOf(batch_.acknowledged[i])));
    close(head);
  }
}

void ApplyRequest::writeFence() {
  const auto value = [this](const spi::Write& write) { arguments_.push_back(*write.value); };
  for (const std::size_t place : fence_) {
    const spi::Write& fence = batch_.writes[place];
    if (fence.isWritten && fence.value) sections("set", Keys::fence, {place}, value);
    if (fence.isWritten && !fence.value) sections("delete", Keys::fence, {place}, {});
  }
}

void ApplyRequest::append(std::span<const std::string> headers) {
  for (const auto& [name, queue] : queues_) {
    if (queue.messages.empty()) continue;
    const std::size_t head = open("append", queue.first);
    for (const std::size_t i : queue.messages) {
      const NewMessage& message = batch_.enqueued[i].message;
      arguments_.insert(arguments_.end(), {message.id.value, message.group.value, message.body, headers[i]});
    }
    close(head);
  }
}

void ApplyRequest::writeWaiting() {
  const auto value = [this](const spi::Write& write) { arguments_.push_back(*write.value); };
  const auto name = [this](const spi::Write& write) { arguments_.push_back(fieldOf(write.name)); };
  const auto both = [&](const spi::Write& write) { name(write), value(write); };
  for (const auto& [unused, queue] : queues_) {
    sections("wait", queue.first, queue.waiting.put, both);
    sections("wait-no-more", queue.first, queue.waiting.removed, name);
  }
}

/// Without values, the section says of how many keys it speaks.
void ApplyRequest::sections(std::string_view what, std::size_t key, const Places& writes, const Values& values) {
  constexpr std::size_t atOnce = mostValues / 2;
  const bool isOfKeys = key > Keys::places && key <= lastId_;
  for (std::size_t from = 0; from < writes.size(); from += atOnce) {
    const std::size_t some = std::min(atOnce, writes.size() - from);
    const std::size_t head = open(what, isOfKeys ? key + from : key);
    if (!values) arguments_.push_back(made(std::to_string(some)));
    for (std::size_t i = from; values && i < from + some; ++i) values(batch_.writes[writes[i]]);
    close(head);
  }
}

bool ApplyRequest::appendsTo(std::string_view key) const {
  return std::ranges::any_of(queues_, [&](const auto& queue) {
    return key == keys_[queue.second.first - 1] || key == keys_[queue.second.first];
  });
}

std::size_t ApplyRequest::open(std::string_view what, std::size_t key) {
  arguments_.insert(arguments_.end(), {what, made(std::to_string(key)), {}});
  return arguments_.size() - 1;
}

void ApplyRequest::close(std::size_t head) { arguments_[head] = made(std::to_string(arguments_.size() - head - 1)); }

void ApplyRequest::touch(std::size_t place, char kind) {
  if (!touchedPlaces_.insert(place).second) return;
  touched_.append(std::to_string(place)).push_back(kind);
}

std::size_t ApplyRequest::firstUnmet(ReplyView places) const {
  std::size_t first = batch_.writes.size();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<std::size_t>(places[i].integer()) - 1;
    if (place < expecting_.size()) first = std::min(first, expecting_[place]);
  }
  return first;
}

}  // namespace tenure::redis
