#include "tenure/webhook.hpp"

#include "webhook/caller.hpp"
#include "webhook/grouped.hpp"
#include "webhook/setup.hpp"

namespace tenure {

Webhook::Webhook(std::unique_ptr<const webhook::Setup> setup)
    : setup_(std::move(setup)), calls_(std::make_unique<webhook::Calls>(*setup_)) {}
Webhook::~Webhook() = default;

Result<std::unique_ptr<Webhook>> Webhook::make(WebhookOptions options) {
  auto setup = webhook::checked(std::move(options));
  if (!setup) return setup.error();
  return std::unique_ptr<Webhook>(new Webhook(*std::move(setup)));
}

std::unique_ptr<IMessageSource> Webhook::grouped(IMessageSource& source) const {
  return std::make_unique<webhook::GroupedByEndpoint>(source, *setup_);
}

Consumer::ByValues Webhook::handlers(std::function<void(EventBody, FencingToken)> tell) const {
  return {[setup = setup_.get(), calls = calls_.get(), tell = std::move(tell)](std::size_t lane) {
    return webhook::makeCaller(*setup, *calls, lane, tell);
  }};
}

}  // namespace tenure
