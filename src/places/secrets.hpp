/// Where a password shows in a URL, or in text that quotes one. Who puts one there did not write a sound URL: a raw
/// slash, question mark or hash in it ends what a reader of URLs takes for the authority.
#pragma once

#include <string>
#include <string_view>

namespace tenure::places {

/// Rather too often than too seldom: true for `user:anything@` before the last @ outside a parameter's value, and for
/// `password=` and its like anywhere. An @ that is none of this can be written %40.
bool holdsPassword(std::string_view url) noexcept;

/// Letters, digits and - . _ alone, such as a parameter's name: what may be repeated.
bool isPlainWord(std::string_view text) noexcept;

/// `scheme://user:password@host` becomes `scheme://***@host`, and `password=…` becomes `password=***`, wherever they
/// stand in the text; up to the next space, so that more may go than had to.
std::string withoutSecrets(std::string_view text);

}  // namespace tenure::places
