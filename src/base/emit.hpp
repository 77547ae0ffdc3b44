/// How rooms emit events: the sink, the clock for the time stamp, and whose events they are.
#pragma once

#include <utility>

#include "tenure/events.hpp"

namespace tenure {

class Emitter {
 public:
  Emitter(IEventSink& sink, const IClock& clock, ElectionName election)
      : sink_(&sink), clock_(&clock), election_(std::move(election)) {}

  void operator()(EventBody body, FencingToken token = {}) const {
    sink_->on(Event{clock_->wallNow(), election_, token, std::move(body)});
  }

 private:
  IEventSink* sink_;
  const IClock* clock_;
  ElectionName election_;
};

}  // namespace tenure
