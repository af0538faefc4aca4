// What the value of a flag may be, said in our words where it is something else. The message goes
// behind the flag's name.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace eroica {

CLI::Validator WholeNumber(int64_t min, int64_t max);
// Names what is near the wrong one.
CLI::Validator OneOf(std::vector<std::string> choices);
// What OneOf lets pass, for completion; empty where the option may be anything else.
std::vector<std::string> ChoicesOf(CLI::Option& option);

}  // namespace eroica
