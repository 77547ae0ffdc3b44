/// Groups with messages that came before their turn, as a term reads them when it begins, and people at any time.
#pragma once

#include <vector>

#include "storage/driver.hpp"
#include "tenure/spi/admin.hpp"

namespace tenure::storage {

/// A key-value store reads each kept message whole for that, a few at once. Errors: those of a read.
Result<std::vector<ConsumersGroup>> openGroups(IStoreDriver& driver);
Result<std::vector<NumberedGroup>> openGroupsOf(IStoreDriver& driver, const ConsumerName& consumer);

}  // namespace tenure::storage
