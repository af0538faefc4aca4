// What is wrong with a command line, in one sentence with what to type instead.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace eroica {

// error: what parsing the command line of app has thrown.
std::string UsageErrorText(const CLI::App& app, const CLI::ParseError& error);

// Of a word that is no command of `command`.
std::string NoSuchCommandText(const CLI::App& command, const std::string& word);

// "eroica topics create".
std::string FullName(const CLI::App& command);

}  // namespace eroica
