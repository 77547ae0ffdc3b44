/// The network of a chaos run, between replicas and servers and among the servers, and what can be done to it.
///
///   namespaces   every server and every replica is a machine of its own on one bridge: the kernel loses the packets
///   proxies      everything is on the loopback interface, with a TCP proxy on every way; where namespaces take more
///                rights than we have
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/ensemble.hpp"

namespace tenure::chaos {

constexpr std::size_t servers = 3;
constexpr std::size_t replicas = 3;

/// Between one replica and all servers.
enum class Trouble {
  refused,  // connections end, and new ones are refused
  silent,   // half-open: nothing passes, nobody is told
  mute,     // what the replica sends is lost
  deaf,     // what it should hear is lost
};

class INetwork {
 public:
  virtual ~INetwork() = default;
  virtual std::string_view name() const noexcept = 0;

  /// What the servers need to be on it; it must outlive them.
  virtual void prepare(test::EnsembleOptions& options) = 0;
  /// They are there.
  virtual void connect(const test::Ensemble& ensemble) = 0;
  /// Where the replica finds the servers.
  virtual std::string hosts(std::size_t replica) const = 0;
  /// The network namespace to start it in; negative: ours.
  virtual int space(std::size_t replica) const = 0;

  virtual void disturb(std::size_t replica, Trouble trouble) = 0;
  /// Makes the replica's client talk to this server; its session goes on. False when it would not in time.
  virtual bool steer(std::size_t replica, std::size_t server) = 0;
  /// Nothing passes between this server and the others; nobody is told. Clients still reach it.
  virtual void isolate(std::size_t server) = 0;
  /// Everything passes everywhere again.
  virtual void heal() = 0;
};

enum class NetworkKind { namespaces, proxies };
std::optional<NetworkKind> networkNamed(std::string_view name) noexcept;

/// Namespaces where we may, else proxies; says which on standard output, and why.
std::unique_ptr<INetwork> makeNetwork(std::optional<NetworkKind> kind = std::nullopt);

}  // namespace tenure::chaos
