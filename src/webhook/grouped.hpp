/// A source whose messages are in the group of their endpoint, unless they have one, or a number. So the calls of an
/// endpoint wait for each other, and those of others do not.
#pragma once

#include "tenure/spi/source.hpp"
#include "webhook/setup.hpp"

namespace tenure::webhook {

class GroupedByEndpoint final : public ForwardingSource {
 public:
  /// Borrows both.
  GroupedByEndpoint(IMessageSource& inner, const Setup& setup) : ForwardingSource(inner), setup_(setup) {}

  Result<std::vector<Message>> fetch(std::size_t max, BootTime deadline, std::stop_token stop) override;

 private:
  const Setup& setup_;
};

}  // namespace tenure::webhook
