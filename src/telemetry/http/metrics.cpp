#include "telemetry/http/metrics.hpp"

#include <dirent.h>
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <vector>

#include "base/answer_timer.hpp"
#include "telemetry/event_line.hpp"
#include "telemetry/http/series.hpp"

namespace tenure::telemetry {

namespace {

using prometheus::MetricFamily;

prometheus::Histogram::BucketBoundaries secondsBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
}
prometheus::Histogram::BucketBoundaries messagesBuckets() { return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}; }
constexpr std::array outcomes{"committed", "duplicate", "failed",    "postponed",
                              "dead",      "skipped",   "coalesced", "forgone"};
constexpr std::array endReasons{EndReason::handoverAsked, EndReason::stopAsked,      EndReason::aborted,
                                EndReason::leaseLost,     EndReason::sessionExpired, EndReason::znodeDeleted,
                                EndReason::fenced,        EndReason::failed,         EndReason::hung};

template <class Rep, class Period>
double inSeconds(std::chrono::duration<Rep, Period> duration) {
  return std::chrono::duration<double>(duration).count();
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double residentBytes() {
  std::ifstream file("/proc/self/statm");
  double all = 0;
  double resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double openDescriptors() {
  DIR* folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  double count = -3;  // ".", "..", and the one that is open for this
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

}  // namespace

class Metrics::Impl {
 public:
  explicit Impl(const ElectionName& election) : labels_{{"election", election.value}} {
    for (const char* outcome : outcomes) message(outcome);
    for (const EndReason reason : endReasons) term(reason);
    for (const char* phase : {"inaugurate", "execute", "rest", "hand_over"}) phaseFailure(phase);
  }

  void on(const Event& event) {
    level_[static_cast<std::size_t>(levelOf(event))]->Increment();
    event.body.visit([this](const auto& body) { count(body); });
  }

  std::vector<MetricFamily> collect(const StatusBoard& board, const std::optional<Term>& term,
                                    const std::optional<QueueFigures>& queue) const {
    std::vector<MetricFamily> families = registry_.Collect();
    const auto counted = [&](const char* name, std::uint64_t value) {
      families.push_back(counterOf(name, static_cast<double>(value), labels_));
    };
    counted("tenure_backend_errors_total", answerTally().unanswered);
    counted("tenure_backend_round_trips_total", answerTally().answered);
    const auto gauge = [&](const char* name, double value) { families.push_back(gaugeOf(name, value, labels_)); };
    const bool leads = term && term->valid();
    gauge("tenure_connected", board.isConnected());
    gauge("tenure_ready", board.isReady() == true);
    gauge("tenure_leader", leads);
    if (leads) {
      gauge("tenure_blocked", board.isBlocked());
      if (handlers_ != nullptr) {
        const auto slowSince = board.slowSince();
        gauge("tenure_lanes_in_use", static_cast<double>(inHand));
        gauge("tenure_handler_slow_seconds", slowSince ? inSeconds(systemClock().wallNow() - *slowSince) : 0);
      }
      gauge("tenure_lease_remaining_seconds", std::max(0.0, inSeconds(term->remaining())));
      gauge("tenure_outage", !board.outage().empty());
      gauge("tenure_paused", term->isPaused());
      gauge("tenure_stopped", board.isStopped());
      gauge("tenure_term_token", static_cast<double>(term->token().value));
    }
    if (leads && queue) addQueue(*queue, gauge);
    std::ranges::stable_sort(families, {}, &MetricFamily::name);
    return families;
  }
  void addProcess(std::vector<MetricFamily>& families) const {
    families.push_back(counterOf("process_cpu_seconds_total", cpuSeconds(), {}));
    families.push_back(gaugeOf("process_open_fds", openDescriptors(), {}));
    families.push_back(gaugeOf("process_resident_memory_bytes", residentBytes(), {}));
    families.push_back(gaugeOf("process_start_time_seconds", inSeconds(began_.time_since_epoch()), {}));
  }

  void countHandlers() { handlers_ = &histogram("tenure_handler_seconds", secondsBuckets()); }
  void countPublications() {
    publications_.emplace(Publications{histogram("tenure_relay_publish_seconds", secondsBuckets()),
                                       counter("tenure_relay_published_total"), counter("tenure_relay_refused_total")});
  }
  void handlerEnded(Duration took) {
    if (handlers_ != nullptr) handlers_->Observe(inSeconds(took));
  }

  std::atomic<std::size_t> inHand = 0;

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  struct Publications {
    prometheus::Histogram& took;
    prometheus::Counter& published;
    prometheus::Counter& refused;
  };

  /// A figure that the backend does not know has no series.
  static void addQueue(const QueueFigures& figures, const auto& gauge) {
    const WallTime now = systemClock().wallNow();
    const auto since = [&](const std::optional<WallTime>& time) {
      return time ? std::max(0.0, inSeconds(now - *time)) : 0.0;
    };
    const QueueStats& queue = figures.queue;
    const std::optional<ScheduledStats>& scheduled = figures.scheduled;
    gauge("tenure_queue_waiting", static_cast<double>(figures.waiting()));
    if (figures.tellsAge && (queue.oldest || queue.waiting == 0))
      gauge("tenure_queue_oldest_age_seconds",
            std::max(since(queue.oldest), scheduled ? since(scheduled->oldestAtOnce) : 0));
    if (queue.deadLetters) gauge("tenure_queue_dead_letters", static_cast<double>(*queue.deadLetters));
    if (queue.retrying) gauge("tenure_queue_retrying", static_cast<double>(*queue.retrying));
    if (!scheduled) return;
    gauge("tenure_scheduled_waiting", static_cast<double>(scheduled->waiting));
    const double came = scheduled->lateness ? inSeconds(*scheduled->lateness) : 0;
    gauge("tenure_scheduled_lateness_seconds", std::max(came, since(scheduled->next)));
  }

  Counters& counters(const char* name) {
    return prometheus::BuildCounter()
        .Name(name)
        .Help(std::string(seriesNamed(name).help))
        .Labels(labels_)
        .Register(registry_);
  }
  prometheus::Counter& counter(const char* name) { return counters(name).Add({}); }
  prometheus::Histogram& histogram(const char* name, const prometheus::Histogram::BucketBoundaries& buckets) {
    return prometheus::BuildHistogram()
        .Name(name)
        .Help(std::string(seriesNamed(name).help))
        .Labels(labels_)
        .Register(registry_)
        .Add({}, buckets);
  }
  prometheus::Counter& message(const char* outcome) { return messages_.Add({{"outcome", outcome}}); }
  prometheus::Counter& term(EndReason reason) { return terms_.Add({{"reason", std::string(toString(reason))}}); }
  prometheus::Counter& phaseFailure(const std::string& phase) { return phaseFailures_.Add({{"phase", phase}}); }
  prometheus::Counter* level(Level level) { return &levels_.Add({{"level", std::string(toString(level))}}); }

  void count(const auto&) {}
  void count(const BatchCommitted& batch) {
    committed_.Increment(static_cast<double>(batch.messages));
    batches_.Observe(static_cast<double>(batch.messages));
    commits_.Observe(inSeconds(batch.took));
  }
  void count(const DuplicateDropped&) { duplicates_.Increment(); }
  void count(const AttemptFailed&) { failed_.Increment(); }
  void count(const MessagePostponed&) { message("postponed").Increment(); }
  void count(const MessageDeadLettered&) { message("dead").Increment(); }
  void count(const MessageSkipped&) { message("skipped").Increment(); }
  void count(const RequestsCoalesced& one) { message("coalesced").Increment(static_cast<double>(one.messages)); }
  void count(const MessageForgone&) { message("forgone").Increment(); }
  void count(const CommitFenced&) { fenced_.Increment(); }
  void count(const LeaderStuck&) { stuck_.Increment(); }
  void count(const CandidacyLost&) { lost_.Increment(); }
  void count(const ElectionFailed&) { failures_.Increment(); }
  void count(const OutageBegan&) { outages_.Increment(); }
  void count(const SessionExpired&) { expired_.Increment(); }
  void count(const SessionSuspended&) { suspended_.Increment(); }
  void count(const PhaseFailed& failed) { phaseFailure(failed.phase).Increment(); }
  void count(const TermEnded& ended) { term(ended.reason).Increment(); }
  void count(const Elected& elected) { idleBefore_ = elected.idle; }
  void count(const Inaugurated& begun) {
    inaugurations_.Observe(inSeconds(begun.took));
    const std::chrono::milliseconds idle = idleBefore_.exchange({});
    if (idle.count() > 0) gaps_.Observe(inSeconds(idle + begun.took));
  }
  void count(const MessagesPublished& some) {
    if (!publications_) return;
    publications_->took.Observe(inSeconds(some.took));
    publications_->published.Increment(static_cast<double>(some.messages));
    publications_->refused.Increment(static_cast<double>(some.refused));
  }

  const Labels labels_;
  const WallTime began_ = systemClock().wallNow();
  prometheus::Registry registry_;
  Counters& messages_ = counters("tenure_messages_total");
  Counters& terms_ = counters("tenure_terms_total");
  Counters& phaseFailures_ = counters("tenure_phase_failures_total");
  Counters& levels_ = counters("tenure_events_total");
  const std::array<prometheus::Counter*, 4> level_{level(Level::debug), level(Level::info), level(Level::warn),
                                                   level(Level::error)};
  // Of each batch and message: found once.
  prometheus::Counter& committed_ = message("committed");
  prometheus::Counter& duplicates_ = message("duplicate");
  prometheus::Counter& failed_ = message("failed");
  prometheus::Histogram& batches_ = histogram("tenure_batch_messages", messagesBuckets());
  prometheus::Histogram& commits_ = histogram("tenure_commit_seconds", secondsBuckets());
  prometheus::Histogram& gaps_ = histogram("tenure_handover_gap_seconds", secondsBuckets());
  prometheus::Histogram& inaugurations_ = histogram("tenure_inauguration_seconds", secondsBuckets());
  prometheus::Counter& fenced_ = counter("tenure_stale_commits_refused_total");
  prometheus::Counter& lost_ = counter("tenure_candidacies_lost_total");
  prometheus::Counter& stuck_ = counter("tenure_stuck_total");
  prometheus::Counter& failures_ = counter("tenure_election_failures_total");
  prometheus::Counter& outages_ = counter("tenure_outages_total");
  prometheus::Counter& expired_ = counter("tenure_sessions_expired_total");
  prometheus::Counter& suspended_ = counter("tenure_sessions_suspended_total");
  prometheus::Histogram* handlers_ = nullptr;
  std::optional<Publications> publications_;
  std::atomic<std::chrono::milliseconds> idleBefore_{};  // of the term that begins
};

Metrics::Metrics(const ElectionName& election) : impl_(std::make_unique<Impl>(election)) {}
Metrics::~Metrics() = default;

void Metrics::on(const Event& event) noexcept {
  try {
    impl_->on(event);
  } catch (...) {
    // Out of memory: the figure is off by one, the work goes on.
  }
}

void Metrics::countHandlers() { impl_->countHandlers(); }
void Metrics::countPublications() { impl_->countPublications(); }
void Metrics::handlerBegan() noexcept { ++impl_->inHand; }
void Metrics::handlerEnded(Duration took) noexcept {
  --impl_->inHand;
  impl_->handlerEnded(took);
}
std::size_t Metrics::inHand() const noexcept { return impl_->inHand; }

std::string Metrics::text(MetricsFormat format, const StatusBoard& board, const std::optional<Term>& term,
                          const std::optional<QueueFigures>& queue) const {
  std::vector<MetricFamily> families = impl_->collect(board, term, queue);
  if (format != MetricsFormat::textfile) impl_->addProcess(families);
  return format == MetricsFormat::openMetrics ? openMetricsOf(families)
                                              : prometheus::TextSerializer().Serialize(families);
}

namespace {

using prometheus::ClientMetric;
using prometheus::MetricType;

std::string number(double value) {
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end.ptr};
}

std::string escapedText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

/// {election="orders",outcome="dead"}; empty without labels.
std::string labelsOf(const ClientMetric& metric, const std::string& more = {}) {
  std::string text;
  for (const auto& label : metric.label)
    text += (text.empty() ? "" : ",") + label.name + "=\"" + escapedText(label.value) + '"';
  if (!more.empty()) text += (text.empty() ? "" : ",") + more;
  return text.empty() ? text : '{' + text + '}';
}

void write(std::string& out, const std::string& name, const std::string& labels, double value) {
  out += name + labels + ' ' + number(value) + '\n';
}

void writeHistogram(std::string& out, const std::string& name, const ClientMetric& metric) {
  for (const auto& bucket : metric.histogram.bucket)
    write(out, name + "_bucket", labelsOf(metric, "le=\"" + number(bucket.upper_bound) + '"'),
          static_cast<double>(bucket.cumulative_count));
  write(out, name + "_count", labelsOf(metric), static_cast<double>(metric.histogram.sample_count));
  write(out, name + "_sum", labelsOf(metric), metric.histogram.sample_sum);
}

}  // namespace

std::string openMetricsOf(const std::vector<prometheus::MetricFamily>& families) {
  constexpr std::string_view total = "_total";
  std::string out;
  for (const prometheus::MetricFamily& family : families) {
    const Series& row = seriesNamed(family.name);
    const bool isCounter = row.kind == Kind::counter;
    const std::string name = isCounter ? family.name.substr(0, family.name.size() - total.size()) : family.name;
    out += "# TYPE " + name + ' ' + std::string(toString(row.kind)) + '\n';
    if (!row.unit.empty()) out += "# UNIT " + name + ' ' + std::string(row.unit) + '\n';
    out += "# HELP " + name + ' ' + escapedText(row.help) + '\n';
    for (const ClientMetric& metric : family.metric) {
      if (row.kind == Kind::histogram) writeHistogram(out, name, metric);
      if (row.kind == Kind::counter) write(out, family.name, labelsOf(metric), metric.counter.value);
      if (row.kind == Kind::gauge) write(out, name, labelsOf(metric), metric.gauge.value);
    }
  }
  return out + "# EOF\n";
}

namespace {

using prometheus::MetricFamily;

MetricFamily messagesByOutcome(const Labels& labels, const ProducerFigures& figures) {
  constexpr const char* name = "tenure_producer_messages_total";
  const auto of = [&](const char* outcome, std::int64_t count) {
    Labels both = labels;
    both.emplace("outcome", outcome);
    return counterOf(name, static_cast<double>(count), both);
  };
  MetricFamily family = of("confirmed", figures.confirmed);
  const auto add = [&](const char* outcome, std::int64_t count) {
    family.metric.push_back(of(outcome, count).metric.front());
  };
  add("refused", figures.refused);
  add("dropped", figures.dropped);
  add("given_up", figures.givenUp);
  return family;
}

}  // namespace

std::string producerText(const std::string& name, const ProducerFigures& figures, bool hasSpool) {
  const Labels labels{{"producer", name}};
  std::vector<MetricFamily> families;
  const auto gauge = [&](const char* series, auto value) {
    families.push_back(gaugeOf(series, static_cast<double>(value), labels));
  };
  families.push_back(counterOf("tenure_producer_batches_total", static_cast<double>(figures.batches), labels));
  gauge("tenure_producer_failing", !figures.lastError.empty());
  families.push_back(messagesByOutcome(labels, figures));
  gauge("tenure_producer_oldest_age_seconds", std::chrono::duration<double>(figures.oldestAge).count());
  if (figures.timeToOverflow) gauge("tenure_producer_overflow_seconds", figures.timeToOverflow->count());
  gauge("tenure_producer_waiting", figures.waiting);
  if (hasSpool) {
    gauge("tenure_spool_bytes", figures.spooledBytes);
    gauge("tenure_spool_failing", !figures.spoolError.empty());
    gauge("tenure_spool_refused", figures.spoolRefused);
    gauge("tenure_spool_waiting", figures.spooled);
  }
  return prometheus::TextSerializer().Serialize(families);
}

Handler counted(Metrics& metrics, Handler handler) {
  metrics.countHandlers();
  return [&metrics, handler = std::move(handler)](const Delivery& delivery) {
    const HandlerRun run(metrics);
    return handler(delivery);
  };
}

namespace {

/// A run is from when a message is given out to its answer, or to the loss of both.
class CountedAnswerer final : public IAnswerer {
 public:
  CountedAnswerer(Metrics& metrics, std::unique_ptr<IAnswerer> inner) : metrics_(metrics), inner_(std::move(inner)) {}

  void attend(const Term& term) override { inner_->attend(term); }
  void leave() noexcept override {
    inner_->leave();
    endAll();
  }
  std::size_t ahead() override { return inner_->ahead(); }
  bool answersInOrder() const noexcept override { return inner_->answersInOrder(); }
  std::optional<BootTime> awaySince() override { return inner_->awaySince(); }
  void give(const Given& given) override {
    began_.emplace(given.ticket.value, BootClock::now());
    metrics_.handlerBegan();
    inner_->give(given);
  }
  void tell(Giving ticket, const StateValues& values) override { inner_->tell(ticket, values); }
  std::vector<Reply> await(BootTime until, const std::stop_token& stop) override {
    std::vector<Reply> replies = inner_->await(until, stop);
    for (const Reply& reply : replies) {
      if (const auto* answered = std::get_if<Answered>(&reply)) end(answered->ticket);
      if (std::holds_alternative<GivenLost>(reply)) endAll();
    }
    return replies;
  }
  void cut() override { inner_->cut(); }
  void hurry() override { inner_->hurry(); }

 private:
  void end(Giving ticket) noexcept {
    const auto found = began_.find(ticket.value);
    if (found == began_.end()) return;
    metrics_.handlerEnded(BootClock::now() - found->second);
    began_.erase(found);
  }
  void endAll() noexcept {
    while (!began_.empty()) end({began_.begin()->first});
  }

  Metrics& metrics_;
  const std::unique_ptr<IAnswerer> inner_;
  std::map<std::int64_t, BootTime> began_;
};

}  // namespace

std::unique_ptr<IAnswerer> counted(Metrics& metrics, std::unique_ptr<IAnswerer> answerer) {
  return std::make_unique<CountedAnswerer>(metrics, std::move(answerer));
}

Route metricsRoute(std::function<std::string(MetricsFormat format)> text) {
  return [text = std::move(text)](const Request& request, const Respond& respond) {
    const bool isOpen = request.accept.find("application/openmetrics-text") != std::string::npos;
    respond({200, text(isOpen ? MetricsFormat::openMetrics : MetricsFormat::prometheus),
             isOpen ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                    : "text/plain; version=0.0.4; charset=utf-8"});
  };
}

}  // namespace tenure::telemetry
