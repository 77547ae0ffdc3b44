/// A certificate authority of our own, for servers under test. Made by the openssl tool.
#pragma once

#include <string>

#include "support/program.hpp"

namespace tenure::test {

/// Files in PEM, gone with their authority.
struct Certificate {
  std::filesystem::path certificate;
  std::filesystem::path key;
};

class Authority {
 public:
  Authority();

  /// What to trust. It vouches for itself.
  std::filesystem::path certificate() const { return folder_ / "authority.pem"; }
  std::filesystem::path key() const { return folder_ / "authority.key"; }
  /// For a server with that name, "DNS:localhost" or "IP:127.0.0.1". A negative number of days: it has expired.
  Certificate issue(const std::string& name, int days = 2);

 private:
  void run(Program::Arguments arguments) const;

  TemporaryFolder folder_;
  int issued_ = 0;
};

}  // namespace tenure::test
