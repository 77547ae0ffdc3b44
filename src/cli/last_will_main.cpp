// The helper program of the last will: `tenure-last-will`, started by candidates.
#include <unistd.h>

#include <iostream>

#include "career/last_will/last_will_helper.hpp"
#include "process/descriptor.hpp"

int main() {
  tenure::openStandardDescriptors();
  tenure::Result<tenure::HelperPost> post = tenure::becomeHelper(tenure::lastWillProgram);
  if (!post) {
    std::cerr << post.error().detail << '\n';
    return 64;
  }
  tenure::keepLastWill(*std::move(post));
  _exit(0);  // nothing is left to be put in order
}
