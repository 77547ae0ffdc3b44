#include "bench/bare_append.hpp"

#include <amqp.h>
#include <amqp_framing.h>
#include <amqp_tcp_socket.h>
#include <hiredis/hiredis.h>
#include <sqlite3.h>

#include <array>
#include <vector>

#include "base/assert.hpp"
#include "support/postgres_server.hpp"
#include "support/rabbitmq_server.hpp"

namespace tenure::bench {
namespace {

std::int64_t nowInMilliseconds() { return systemClock().wallNow().time_since_epoch().count(); }

class Sqlite final : public BareAppend {
 public:
  Sqlite(const std::filesystem::path& file, const std::string& pragmas) {
    TENURE_ASSERT(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
    run(pragmas);
    run("CREATE TABLE bare(n INTEGER PRIMARY KEY, id TEXT NOT NULL, grp TEXT NOT NULL, body BLOB NOT NULL,"
        " headers TEXT, enqueued_at INTEGER NOT NULL)");
    TENURE_ASSERT(sqlite3_prepare_v3(db_, "INSERT INTO bare(id, grp, body, enqueued_at) VALUES(?1, ?2, ?3, ?4)", -1,
                                     SQLITE_PREPARE_PERSISTENT, &insert_, nullptr) == SQLITE_OK);
  }
  ~Sqlite() override {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void append(std::span<const NewMessage> messages) override {
    const std::int64_t now = nowInMilliseconds();
    run("BEGIN IMMEDIATE");
    for (const NewMessage& message : messages) {
      const auto size = [](const std::string& text) { return static_cast<int>(text.size()); };
      sqlite3_bind_text(insert_, 1, message.id.value.data(), size(message.id.value), SQLITE_STATIC);
      sqlite3_bind_text(insert_, 2, message.group.value.data(), size(message.group.value), SQLITE_STATIC);
      sqlite3_bind_blob(insert_, 3, message.body.data(), size(message.body), SQLITE_STATIC);
      sqlite3_bind_int64(insert_, 4, now);
      TENURE_ASSERT(sqlite3_step(insert_) == SQLITE_DONE);
      sqlite3_reset(insert_);
    }
    run("COMMIT");
  }
  std::int64_t count() override {
    sqlite3_stmt* statement = nullptr;
    TENURE_ASSERT(sqlite3_prepare_v2(db_, "SELECT count(*) FROM bare", -1, &statement, nullptr) == SQLITE_OK);
    TENURE_ASSERT(sqlite3_step(statement) == SQLITE_ROW);
    const std::int64_t count = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return count;
  }

 private:
  void run(const std::string& sql) {
    TENURE_ASSERT(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
};

class Postgres final : public BareAppend {
 public:
  explicit Postgres(test::PostgresSession session) : session_(std::move(session)) {
    run("CREATE TABLE bare(n bigserial PRIMARY KEY, id text NOT NULL, grp text NOT NULL, body text NOT NULL,"
        " headers text, enqueued_at bigint NOT NULL)");
  }

  void append(std::span<const NewMessage> messages) override {
    const std::string now = std::to_string(nowInMilliseconds());
    std::string sql = "INSERT INTO bare(id, grp, body, enqueued_at) VALUES ";
    for (const NewMessage& message : messages)
      sql.append("('")
          .append(message.id.value)
          .append("','")
          .append(message.group.value)
          .append("','")
          .append(message.body)
          .append("',")
          .append(now)
          .append("),");
    sql.pop_back();
    run(sql);
  }
  std::int64_t count() override { return std::stoll(session_.ask("SELECT count(*) FROM bare")); }

 private:
  void run(const std::string& sql) { TENURE_ASSERT(session_.tryToRun(sql).empty()); }

  test::PostgresSession session_;
};

class Redis final : public BareAppend {
 public:
  explicit Redis(const redis::Options& options)
      : context_(redisConnect(options.host.c_str(), options.port), &redisFree), stream_("bare:" + options.queue) {
    TENURE_ASSERT(context_ != nullptr && context_->err == 0);
  }

  void append(std::span<const NewMessage> messages) override {
    const std::string now = std::to_string(nowInMilliseconds());
    send({"MULTI"});
    for (const NewMessage& message : messages)
      send({"XADD", stream_, "*", "id", message.id.value, "group", message.group.value, "body", message.body, "headers",
            "", "at", now});
    send({"EXEC"});
    for (std::size_t i = 0; i <= messages.size(); ++i) receive();
    TENURE_ASSERT(receive()->elements == messages.size());
  }
  std::int64_t count() override {
    send({"XLEN", stream_});
    return receive()->integer;
  }

 private:
  using Reply = std::unique_ptr<redisReply, void (*)(void*)>;

  template <std::size_t N>
  void send(const std::string_view (&command)[N]) {
    std::array<const char*, N> starts;
    std::array<std::size_t, N> lengths;
    for (std::size_t i = 0; i < N; ++i) {
      starts[i] = command[i].data();
      lengths[i] = command[i].size();
    }
    TENURE_ASSERT(redisAppendCommandArgv(context_.get(), N, starts.data(), lengths.data()) == REDIS_OK);
  }
  Reply receive() {
    void* reply = nullptr;
    TENURE_ASSERT(redisGetReply(context_.get(), &reply) == REDIS_OK);
    Reply owned(static_cast<redisReply*>(reply), &freeReplyObject);
    TENURE_ASSERT(owned->type != REDIS_REPLY_ERROR);
    return owned;
  }

  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
  const std::string stream_;
};

amqp_bytes_t bytesOf(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }

class Rabbit final : public BareAppend {
 public:
  explicit Rabbit(const rabbitmq::Options& options)
      : connection_(amqp_new_connection()), queue_("bare-" + options.queue), groupHeader_(options.groupHeader) {
    amqp_socket_t* socket = amqp_tcp_socket_new(connection_);
    TENURE_ASSERT(amqp_socket_open(socket, options.host.c_str(), options.port) == AMQP_STATUS_OK);
    const auto entered = amqp_login(connection_, options.virtualHost.c_str(), 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                    AMQP_SASL_METHOD_PLAIN, options.user.c_str(), test::RabbitServer::password);
    TENURE_ASSERT(entered.reply_type == AMQP_RESPONSE_NORMAL);
    TENURE_ASSERT(amqp_channel_open(connection_, channel) != nullptr);
    TENURE_ASSERT(declare() != nullptr);
    TENURE_ASSERT(amqp_confirm_select(connection_, channel) != nullptr);
  }
  ~Rabbit() override {
    amqp_queue_delete(connection_, channel, bytesOf(queue_), 0, 0);
    amqp_connection_close(connection_, AMQP_REPLY_SUCCESS);
    amqp_destroy_connection(connection_);
  }
  Rabbit(const Rabbit&) = delete;
  Rabbit& operator=(const Rabbit&) = delete;

  void append(std::span<const NewMessage> messages) override {
    const auto now = static_cast<std::uint64_t>(nowInMilliseconds() / 1000);
    for (const NewMessage& message : messages) publish(message, now);
    isOpen_.assign(messages.size(), true);
    const std::uint64_t first = published_ - messages.size() + 1;
    for (std::size_t left = messages.size(), lowest = 0; left > 0;) {
      const amqp_basic_ack_t acknowledged = nextConfirm();
      const auto last = static_cast<std::size_t>(acknowledged.delivery_tag - first);
      for (std::size_t i = acknowledged.multiple != 0 ? lowest : last; i <= last; ++i) {
        left -= isOpen_.at(i) ? 1 : 0;
        isOpen_[i] = false;
      }
      while (lowest < isOpen_.size() && !isOpen_[lowest]) ++lowest;
    }
    amqp_maybe_release_buffers(connection_);
  }
  std::int64_t count() override { return declare()->message_count; }

 private:
  static constexpr amqp_channel_t channel = 1;

  amqp_queue_declare_ok_t* declare() {
    return amqp_queue_declare(connection_, channel, bytesOf(queue_), 0, 1, 0, 0, amqp_empty_table);
  }

  void publish(const NewMessage& message, std::uint64_t now) {
    amqp_table_entry_t group{};
    group.key = bytesOf(groupHeader_);
    group.value.kind = AMQP_FIELD_KIND_UTF8;
    group.value.value.bytes = bytesOf(message.group.value);
    amqp_basic_properties_t properties{};
    properties._flags = AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG | AMQP_BASIC_MESSAGE_ID_FLAG |
                        AMQP_BASIC_TIMESTAMP_FLAG;
    properties.headers = {1, &group};
    properties.delivery_mode = 2;
    properties.message_id = bytesOf(message.id.value);
    properties.timestamp = now;
    TENURE_ASSERT(amqp_basic_publish(connection_, channel, amqp_empty_bytes, bytesOf(queue_), 1, 0, &properties,
                                     bytesOf(message.body)) == AMQP_STATUS_OK);
    ++published_;
  }

  /// Anything else ends the program: a message that was returned, a refusal, a lost connection.
  amqp_basic_ack_t nextConfirm() {
    amqp_frame_t frame{};
    TENURE_ASSERT(amqp_simple_wait_frame(connection_, &frame) == AMQP_STATUS_OK);
    TENURE_ASSERT(frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_BASIC_ACK_METHOD);
    return *static_cast<amqp_basic_ack_t*>(frame.payload.method.decoded);
  }

  amqp_connection_state_t connection_;
  const std::string queue_;
  const std::string groupHeader_;
  std::uint64_t published_ = 0;
  std::vector<bool> isOpen_;  // of the last batch
};

}  // namespace

std::unique_ptr<BareAppend> bareSqlite(const std::filesystem::path& file, const std::string& pragmas) {
  return std::make_unique<Sqlite>(file, pragmas);
}
std::unique_ptr<BareAppend> barePostgres(test::PostgresSession session) {
  return std::make_unique<Postgres>(std::move(session));
}
std::unique_ptr<BareAppend> bareRedis(const redis::Options& options) { return std::make_unique<Redis>(options); }
std::unique_ptr<BareAppend> bareRabbit(const rabbitmq::Options& options) { return std::make_unique<Rabbit>(options); }

}  // namespace tenure::bench
