/// The file systems on which a database may live: their locks and syncs must hold.
#pragma once

#include <filesystem>
#include <functional>

#include "tenure/result.hpp"

namespace tenure::sqlite {

/// The f_type of a path, as statfs(2) gives it.
using FileSystemType = std::function<Result<long>(const std::filesystem::path&)>;
Result<long> fileSystemType(const std::filesystem::path& path);

/// Errors:  configurationRefused  names the file and the file system
///          notFound              neither the file nor its directory exists
Result<void> requireLocalFileSystem(const std::filesystem::path& file, const FileSystemType& typeOf = fileSystemType);

}  // namespace tenure::sqlite
