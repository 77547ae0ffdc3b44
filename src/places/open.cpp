#include <algorithm>

#include "base/nearest.hpp"
#include "base/text.hpp"
#include "places/backend.hpp"

namespace tenure::places {
namespace {

struct Home {
  std::string_view scheme;
  std::string_view component;
};
constexpr Home homes[] = {{"sqlite", "sqlite"}, {"postgresql", "postgresql"}, {"redis", "redis"},
                          {"amqp", "rabbitmq"}, {"amqps", "rabbitmq"},        {"zookeeper", "zookeeper"}};

Error unknownScheme(const std::string& scheme, const std::vector<Component>& components) {
  std::string known;
  std::vector<std::string> names;
  for (const Component& component : components)
    for (const Scheme* each : component.schemes) names.emplace_back(each->name);
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  std::string text = "scheme \"" + escaped(scheme) + "\" is not known here: expected " +
                     (known.empty() ? "none" : known) + didYouMean(scheme, names);
  for (const Home& home : homes)
    if (home.scheme == scheme) text += "; it comes with tenure::" + std::string(home.component) + "::component()";
  return {Errc::unsupported, text};
}

}  // namespace

Result<std::unique_ptr<Backend>> parse(const Url& url, const std::vector<Component>& components) {
  for (const Component& component : components)
    for (const Scheme* scheme : component.schemes) {
      if (scheme->name != url.scheme) continue;
      auto backend = scheme->make(url);
      if (backend) (*backend)->setParameters(url.parameters);
      return backend;
    }
  return unknownScheme(url.scheme, components);
}

}  // namespace tenure::places

namespace tenure {

Result<std::unique_ptr<IPlace>> open(std::string_view url, const std::vector<Component>& components) {
  const Result<places::Url> parts = places::parseUrl(url);
  if (!parts) return parts.error();
  auto place = places::parse(*parts, components);
  if (!place) return place.error();
  return std::unique_ptr<IPlace>(*std::move(place));
}

}  // namespace tenure
