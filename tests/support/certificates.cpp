#include "support/certificates.hpp"

#include <fstream>
#include <stdexcept>

namespace tenure::test {
namespace {

const Program::Arguments newKey{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"};

Program::Arguments operator+(Program::Arguments left, const Program::Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

}  // namespace

Authority::Authority() {
  run(Program::Arguments{"req", "-x509", "-days", "2", "-subj", "/CN=Test", "-keyout", folder_ / "authority.key",
                         "-out", certificate()} +
      newKey);
}

Certificate Authority::issue(const std::string& name, int days) {
  const std::string number = std::to_string(++issued_);
  const Certificate issued{folder_ / (number + ".pem"), folder_ / (number + ".key")};
  std::ofstream(folder_ / "names") << "subjectAltName=" << name << '\n';
  run(Program::Arguments{"req", "-new", "-subj", "/CN=server", "-keyout", issued.key, "-out", folder_ / "request"} +
      newKey);
  run({"x509", "-req", "-in", folder_ / "request", "-CA", certificate(), "-CAkey", folder_ / "authority.key",
       "-extfile", folder_ / "names", "-days", std::to_string(days), "-out", issued.certificate});
  return issued;
}

void Authority::run(Program::Arguments arguments) const {
  arguments.insert(arguments.begin(), "openssl");
  Program openssl(arguments, folder_ / "log");
  const std::optional<Ending> ended = openssl.waitForEnd();
  if (!ended || ended->exitCode != 0) throw std::runtime_error("openssl: " + openssl.output());
}

}  // namespace tenure::test
