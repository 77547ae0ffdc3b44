/// Expected failures are values: `Result<T>` holds a T or an Error.
#pragma once

#if __cplusplus < 202002L
#error "Tenure needs C++20: compile with -std=c++20, or link tenure::core with CMake, which asks for it"
#endif

#include <boost/system/result.hpp>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tenure {

/// Every failure that Tenure reports. Ask by the predicates below; they are what decisions rest on.
enum class Errc {
  invalidArgument = 1,   // a value cannot be parsed or is out of its range
  configurationRefused,  // values that do not fit together, or a setting that would be unsafe
  unsupported,           // the backend or the build cannot do this

  unavailable,     // a server or file was not reached; nothing was changed, safe to repeat
  timedOut,        // as unavailable, after waiting for the stated limit
  outcomeUnknown,  // it may have happened: the reply was lost
  cancelled,       // given up because a stop was asked for

  notFound,              // znode, row or file absent
  alreadyExists,         // znode or row present
  versionMismatch,       // a conditional write found another version
  permissionDenied,      // ACL or file mode
  authenticationFailed,  // wrong credentials; never retried
  sessionExpired,        // the ZooKeeper session is gone, with its ephemeral znodes
  quotaExceeded,         // refused by quota or throttling

  staleTerm,        // FENCED: a newer term has claimed
  leaseLost,        // this process can no longer prove its leadership
  tokenRegression,  // REGRESSED: the store has seen a newer token than this ensemble hands out
  foreignEnsemble,  // the store was claimed under another ensemble
  foreignPath,      // the store was claimed under another election path
  queueOwned,       // the queue belongs to another election
  fenceLost,        // LOST: the fence row is gone or damaged
  clonedLeader,     // another writer uses our token: a cloned machine, or a bug
  placeReplaced,    // store or queue is another one now, or went back to a backup: a new term may begin on it

  payloadTooLarge,      // over the limit of queue, store or znode
  idReused,             // a message id came again with another body
  alreadyScheduled,     // a message of this id waits for its time, with another time or content
  alreadyDone,          // a message of this id had its time, and has come to its queue
  storeBusy,            // the store's lock was not had within its limit; the detail names the holder
  rowLocked,            // a row of the user's was locked by others for too long: its message waits, its store is well
  storeFull,            // disk full or quota; nothing was committed
  storeFailed,          // I/O error or corruption
  heldTooLong,          // a transaction was left idle for longer than its store allows; nothing was committed
  transactionConflict,  // the store took the transaction back and blames no message: handle its messages again
  commitRefused,        // the store is well and rejects this commit for what its messages wrote
  gapTooOld,            // a group's next number has not come in time, or too many messages wait for it

  careerFailed,  // user code threw something of its own
};

const std::error_category& tenureCategory() noexcept;
inline std::error_code make_error_code(Errc code) noexcept { return {static_cast<int>(code), tenureCategory()}; }

/// The operation may have happened: repeat only under the same message id.
bool isOutcomeUnknown(const std::error_code& code) noexcept;
/// Never repeat under this term: hand over.
bool isTermOver(const std::error_code& code) noexcept;
/// No term of this replica can succeed until an operator acts: stop and say so.
bool isFatal(const std::error_code& code) noexcept;

/// A code to decide by and a sentence for a person: what was refused or failed, and what was expected.
/// Never holds a secret.
struct Error {
  std::error_code code;
  std::string detail;

  Error() = default;  // what Result::error() returns when there is a value
  Error(Errc errc, std::string text = {}) : code(make_error_code(errc)), detail(std::move(text)) {}
  Error(std::error_code errorCode, std::string text = {}) : code(errorCode), detail(std::move(text)) {}

  bool is(Errc errc) const noexcept { return code == make_error_code(errc); }
  /// "code message: detail"
  std::string message() const;
};

/// What `Result::value()` throws when there is only an error.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

/// A T or an Error. An Error that is ignored is an effect that is lost, so the compiler warns of it.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

}  // namespace tenure

template <>
struct std::is_error_code_enum<tenure::Errc> : std::true_type {};
