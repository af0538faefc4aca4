// How --help looks: as wide as the terminal, options with what they are for beside them.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace eroica {

class HelpFormat final : public CLI::Formatter {
 public:
  // Columns.
  explicit HelpFormat(size_t width) : width_(width) {}

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_footer(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;

 private:
  std::string Row(const std::string& name, const std::string& about) const;

  size_t width_;
};

}  // namespace eroica
