/// A stunnel of our own on free loopback ports, configured as docs/operations.md tells users to, gone with the test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/certificates.hpp"
#include "support/program.hpp"

namespace tenure::test {

/// One end of a tunnel: a port for each port behind it, in the same order.
class Stunnel {
 public:
  /// Takes TLS and hands plain bytes to `behind`. With an `authority`, only who shows a certificate of its.
  static Stunnel server(const std::vector<std::uint16_t>& behind, const Certificate& certificate,
                        const std::filesystem::path& authority = {});
  /// Takes plain bytes and hands TLS to `behind`, if what is there proves to be `name`.
  static Stunnel client(const std::vector<std::uint16_t>& behind, const Authority& authority, const std::string& name,
                        const Certificate& own = {});

  const std::vector<std::uint16_t>& ports() const noexcept { return ports_; }
  /// "127.0.0.1:port,…"
  std::string hosts() const;
  std::string log() const { return process_.output(); }
  bool logs(const std::string& text) { return process_.waitForOutput(text); }

 private:
  Stunnel(std::vector<std::uint16_t> ports, const std::string& global, const std::string& eachService,
          const std::vector<std::uint16_t>& behind);

  TemporaryFolder folder_;
  std::vector<std::uint16_t> ports_;
  Program process_;
};

}  // namespace tenure::test
