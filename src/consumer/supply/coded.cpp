#include "consumer/supply/coded.hpp"

#include <nlohmann/json.hpp>

namespace tenure::supply {

namespace {

using nlohmann::json;

json jsonOf(std::span<const Item> items) {
  json all = json::array();
  for (const Item& item : items) all.push_back({item.place, item.isSuspect});
  return all;
}

std::vector<Item> itemsOf(const json& all) {
  std::vector<Item> items;
  for (const json& each : all) items.push_back({each.at(0).get<Place>(), each.at(1).get<bool>()});
  return items;
}

}  // namespace

std::string encoded(const Assignment& assignment) {
  return json{{"attachment", assignment.attachment}, {"n", assignment.number}, {"items", jsonOf(assignment.items)}}
      .dump();
}

std::string encoded(const Report& report) {
  json done = json::array();
  for (const Report::Done& each : report.done) done.push_back({each.place, each.hadRun});
  return json{{"attachment", report.attachment},
              {"n", report.number},
              {"done", std::move(done)},
              {"parked", jsonOf(report.parked)},
              {"until", report.until.time_since_epoch().count()},
              {"unbegun", report.unbegun},
              {"releases", report.releases}}
      .dump();
}

void decode(std::string_view text, Assignment& into) {
  const json from = json::parse(text);
  into = {.attachment = from.at("attachment").get<std::uint64_t>(),
          .number = from.at("n").get<std::uint64_t>(),
          .items = itemsOf(from.at("items"))};
}

void decode(std::string_view text, Report& into) {
  const json from = json::parse(text);
  into = {.attachment = from.at("attachment").get<std::uint64_t>(),
          .number = from.at("n").get<std::uint64_t>(),
          .parked = itemsOf(from.at("parked")),
          .until = BootTime{Duration{from.at("until").get<Duration::rep>()}},
          .unbegun = from.at("unbegun").get<std::vector<Place>>(),
          .releases = from.at("releases").get<bool>()};
  for (const json& each : from.at("done")) into.done.push_back({each.at(0).get<Place>(), each.at(1).get<bool>()});
}

}  // namespace tenure::supply
