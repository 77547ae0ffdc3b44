/// Assignment and report as text. A build with TENURE_CODED_VALUES, as those with a sanitizer are, sends both as text,
/// so that neither holds anything that its text does not have. Pure.
#pragma once

#include <string>
#include <string_view>

#include "consumer/supply/assignment.hpp"

namespace tenure::supply {

std::string encoded(const Assignment& assignment);
std::string encoded(const Report& report);
/// Of a text that encoded() has made.
void decode(std::string_view text, Assignment& into);
void decode(std::string_view text, Report& into);

}  // namespace tenure::supply
