#include "chaos/course.hpp"

#include <algorithm>
#include <fstream>

namespace tenure::chaos {

using history::Op;
using history::Stage;

void Course::follow(const std::filesystem::path& history) { tails_.push_back({history}); }

void Course::look() {
  for (Tail& tail : tails_) {
    std::ifstream in(tail.file, std::ios::binary);
    in.seekg(tail.read);
    for (std::string text; std::getline(in, text) && !in.eof(); tail.read = in.tellg()) take(text);
  }
}

void Course::take(const std::string& text) {
  // Most lines are about single messages; only these two matter here.
  const bool matters =
      text.find(R"("op":"lead")") != std::string::npos || text.find(R"("op":"commit")") != std::string::npos;
  if (!matters) return;
  if (const auto line = history::parseLine(text)) take(*line);
}

void Course::take(const history::Line& line) {
  if (line.op == Op::lead) leading_[line.process] = line.stage == Stage::ok ? 0 : line.token;
  if (line.op != Op::commit || line.stage != Stage::ok || line.id.empty()) return;
  ++commits_;
  newest_ = std::max(newest_, line.token);
}

std::int64_t Course::tokenOf(const std::string& process) const {
  const auto found = leading_.find(process);
  return found == leading_.end() ? 0 : found->second;
}

bool Course::anybodyLeads() const {
  return std::any_of(leading_.begin(), leading_.end(), [](const auto& entry) { return entry.second != 0; });
}

}  // namespace tenure::chaos
