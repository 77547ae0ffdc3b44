/// The test programs' command line: name=value words.
#pragma once

#include <map>
#include <string>

namespace tenure::test {

class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string text = argv[i];
      values_[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
  }
  std::string text(const std::string& name) const { return values_.contains(name) ? values_.at(name) : ""; }
  int number(const std::string& name, int otherwise) const {
    return values_.contains(name) ? std::stoi(values_.at(name)) : otherwise;
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace tenure::test
