#include "backends/sqlite/file_system.hpp"

#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tenure::sqlite {
namespace {

struct Refused {
  unsigned long type;
  const char* name;
};

// Network and cluster file systems, and FUSE, behind which anything may be. From statfs(2) and linux/magic.h.
constexpr std::array refusedTypes{
    Refused{0x6969, "NFS"},       Refused{0x517B, "SMB"},        Refused{0xFF534D42, "CIFS"},
    Refused{0xFE534D42, "SMB2"},  Refused{0x564C, "NCP"},        Refused{0x5346414F, "AFS"},
    Refused{0x6B414653, "AFS"},   Refused{0x73757245, "Coda"},   Refused{0x00C36400, "Ceph"},
    Refused{0x7461636F, "OCFS2"}, Refused{0x01161970, "GFS2"},   Refused{0x0BD00BD0, "Lustre"},
    Refused{0x01021997, "9p"},    Refused{0x65735546, "FUSE"},   Refused{0x786F4256, "vboxsf"},
    Refused{0x47504653, "GPFS"},  Refused{0x19830326, "BeeGFS"}, Refused{0xAAD7AAEA, "PanFS"},
};

}  // namespace

Result<long> fileSystemType(const std::filesystem::path& path) {
  struct statfs info {};
  if (statfs(path.c_str(), &info) == 0) return static_cast<long>(info.f_type);
  return Error{errno == ENOENT ? Errc::notFound : Errc::unavailable, path.string() + ": " + std::strerror(errno)};
}

Result<void> requireLocalFileSystem(const std::filesystem::path& file, const FileSystemType& typeOf) {
  Result<long> type = typeOf(file);
  if (!type && type.error().is(Errc::notFound)) type = typeOf(file.parent_path());
  if (!type && type.error().is(Errc::notFound))
    return Error{Errc::configurationRefused, "there is no folder " + file.parent_path().string() + " for " +
                                                 file.filename().string() + ": expected one that exists"};
  if (!type) return type.error();
  for (const Refused& refused : refusedTypes)
    if (refused.type == static_cast<unsigned long>(*type))
      return Error{Errc::configurationRefused,
                   file.string() + " is on " + refused.name +
                       ", where file locks do not hold between processes: use a local disk"};
  return {};
}

}  // namespace tenure::sqlite
