#include "support/stunnel.hpp"

#include <fstream>
#include <stdexcept>

#include "support/ensemble.hpp"

namespace tenure::test {
namespace {

std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

std::string showing(const Certificate& certificate) {
  if (certificate.certificate.empty()) return {};
  return "cert = " + certificate.certificate.string() + "\nkey = " + certificate.key.string() + "\n";
}

std::filesystem::path written(const std::filesystem::path& file, const std::vector<std::uint16_t>& ports,
                              const std::string& global, const std::string& eachService,
                              const std::vector<std::uint16_t>& behind) {
  std::ofstream out(file);
  out << "foreground = yes\npid =\nsyslog = no\ndebug = info\nsslVersionMin = TLSv1.2\n" << global;
  for (std::size_t i = 0; i < ports.size(); ++i)
    out << "[zk" << i + 1 << "]\naccept = " << local(ports[i]) << "\nconnect = " << local(behind[i]) << "\n"
        << eachService;
  return file;
}

}  // namespace

Stunnel Stunnel::server(const std::vector<std::uint16_t>& behind, const Certificate& certificate,
                        const std::filesystem::path& authority) {
  const std::string wanted =
      authority.empty() ? std::string() : "verifyChain = yes\nCAfile = " + authority.string() + "\n";
  return {freePorts(behind.size()), showing(certificate) + wanted, "", behind};
}

Stunnel Stunnel::client(const std::vector<std::uint16_t>& behind, const Authority& authority, const std::string& name,
                        const Certificate& own) {
  return {freePorts(behind.size()),
          "client = yes\nverifyChain = yes\nCAfile = " + authority.certificate().string() + "\n" + showing(own),
          "checkHost = " + name + "\n", behind};
}

Stunnel::Stunnel(std::vector<std::uint16_t> ports, const std::string& global, const std::string& eachService,
                 const std::vector<std::uint16_t>& behind)
    : ports_(std::move(ports)),
      process_({"stunnel4", written(folder_ / "stunnel.conf", ports_, global, eachService, behind)}, folder_ / "log") {
  if (!process_.waitForOutput("Configuration successful")) throw std::runtime_error("stunnel does not start: " + log());
}

std::string Stunnel::hosts() const {
  std::string all;
  for (const std::uint16_t port : ports_) all += (all.empty() ? "" : ",") + local(port);
  return all;
}

}  // namespace tenure::test
