#include "backends/postgresql/session/session_name.hpp"

#include "tenure/spi/store.hpp"

namespace tenure::postgresql {
namespace {

constexpr std::size_t keptByServer = 63;
constexpr std::string_view ofSource = "/source";
constexpr std::size_t longestTerm = 2 * 19 + 1;  // generation, a point, token
constexpr std::size_t longestElection = keptByServer - ofSource.size() - longestTerm - 1;

/// A long name's beginning, then a digest of all of it behind a letter that no election has in its name.
std::string shortened(const std::string& election) {
  if (election.size() <= longestElection) return election;
  constexpr std::size_t digits = 12;
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  std::string name = election.substr(0, longestElection - digits - 1) + "~";
  const BodyDigest digest = digestOf(election);
  for (std::size_t i = 0; i < digits; ++i) {
    const auto byte = std::to_integer<unsigned>(digest[i / 2]);
    name.push_back(hexadecimal[(i % 2 == 0 ? byte >> 4U : byte) & 0xFU]);
  }
  return name;
}

}  // namespace

std::string sessionPrefix(const ElectionName& election) { return shortened(election.value) + "/"; }

std::string storeSession(const TermIdentity& term) {
  const std::string generation = term.generation == 1 ? "" : std::to_string(term.generation) + ".";
  return sessionPrefix(term.election) + generation + std::to_string(term.token.value);
}

std::string sourceSession(const TermIdentity& term) { return storeSession(term) + std::string(ofSource); }

}  // namespace tenure::postgresql
