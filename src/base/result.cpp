#include "tenure/result.hpp"

#include <array>

namespace tenure {
namespace {

struct Meaning {
  Errc code;
  const char* text;
};

constexpr std::array meanings{
    Meaning{Errc::invalidArgument, "invalid argument"},
    Meaning{Errc::configurationRefused, "configuration refused"},
    Meaning{Errc::unsupported, "unsupported"},
    Meaning{Errc::unavailable, "unavailable"},
    Meaning{Errc::timedOut, "timed out"},
    Meaning{Errc::outcomeUnknown, "outcome unknown"},
    Meaning{Errc::cancelled, "cancelled"},
    Meaning{Errc::notFound, "not found"},
    Meaning{Errc::alreadyExists, "already exists"},
    Meaning{Errc::versionMismatch, "version mismatch"},
    Meaning{Errc::permissionDenied, "permission denied"},
    Meaning{Errc::authenticationFailed, "authentication failed"},
    Meaning{Errc::sessionExpired, "session expired"},
    Meaning{Errc::quotaExceeded, "quota exceeded"},
    Meaning{Errc::staleTerm, "stale term: a newer one has claimed"},
    Meaning{Errc::leaseLost, "lease lost"},
    Meaning{Errc::tokenRegression,
            "TokenRegression: the store has seen a newer token; was the ensemble restored? see `tenure fence rebase`"},
    Meaning{Errc::foreignEnsemble,
            "ForeignEnsemble: the store was claimed under another ensemble; when that one is gone for good, `tenure "
            "fence rebase` "
            "accepts this one"},
    Meaning{Errc::foreignPath,
            "ForeignPath: the store was claimed under another election path; --root differs, or was changed: see "
            "`tenure fence "
            "rebase`"},
    Meaning{Errc::queueOwned,
            "the queue belongs to another election, which alone consumes it; a second service gets each message in a "
            "queue of its own, to which they are sent as well"},
    Meaning{Errc::fenceLost, "the fence row is lost"},
    Meaning{Errc::clonedLeader, "another writer uses this term's token"},
    Meaning{Errc::placeReplaced, "replaced, or brought back from a backup"},
    Meaning{Errc::payloadTooLarge, "payload too large"},
    Meaning{Errc::commitRefused, "commit refused"},
    Meaning{Errc::idReused, "message id reused with another body"},
    Meaning{Errc::alreadyScheduled, "already scheduled"},
    Meaning{Errc::alreadyDone, "already done"},
    Meaning{Errc::storeBusy, "store busy"},
    Meaning{Errc::rowLocked, "row locked"},
    Meaning{Errc::storeFull, "store full"},
    Meaning{Errc::heldTooLong, "transaction held for too long"},
    Meaning{Errc::storeFailed, "store failed"},
    Meaning{Errc::transactionConflict, "undone"},
    Meaning{Errc::gapTooOld, "a gap in the numbers is too old"},
    Meaning{Errc::careerFailed, "the career failed"},
};

class TenureCategory final : public std::error_category {
 public:
  const char* name() const noexcept override { return "tenure"; }
  std::string message(int value) const override {
    for (const Meaning& meaning : meanings)
      if (static_cast<int>(meaning.code) == value) return meaning.text;
    return "unknown error " + std::to_string(value);
  }
};

bool isOneOf(const std::error_code& code, std::initializer_list<Errc> errcs) noexcept {
  return std::any_of(errcs.begin(), errcs.end(), [&](Errc errc) { return code == make_error_code(errc); });
}

}  // namespace

const std::error_category& tenureCategory() noexcept {
  static const TenureCategory category;
  return category;
}

bool isOutcomeUnknown(const std::error_code& code) noexcept { return code == make_error_code(Errc::outcomeUnknown); }

bool isTermOver(const std::error_code& code) noexcept {
  return isOneOf(code, {Errc::staleTerm, Errc::leaseLost, Errc::sessionExpired, Errc::placeReplaced}) || isFatal(code);
}

bool isFatal(const std::error_code& code) noexcept {
  return isOneOf(code,
                 {Errc::tokenRegression, Errc::foreignEnsemble, Errc::foreignPath, Errc::queueOwned, Errc::fenceLost,
                  Errc::clonedLeader, Errc::authenticationFailed, Errc::configurationRefused, Errc::unsupported});
}

std::string Error::message() const {
  std::string text = code.message();
  return detail.empty() ? text : text + ": " + detail;
}

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::system_error(error.code, error.detail);
}

}  // namespace tenure
