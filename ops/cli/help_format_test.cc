#include "ops/cli/help_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <string>

namespace eroica {
namespace {

using ::testing::HasSubstr;

std::string Help(size_t width) {
  CLI::App app("Finds which rank and which function slow a training job down, while it runs.",
               "eroica");
  app.formatter(std::make_shared<HelpFormat>(width));
  std::string value;
  auto* option = app.add_option("-o,--output", value,
                                "A folder, of which this says so much that it fits no narrow line")
                     ->type_name("DIR");
  bool flag = false;
  app.add_flag("--long-name-of-a-flag-indeed", flag, "What it is for")->excludes(option);
  app.add_subcommand("command", "What the command does, in a sentence that is long enough");
  app.footer(
      "Examples:\n"
      "  eroica command -o recording/                                  what that does\n"
      "  eroica command --long-name-of-a-flag-indeed --output a-folder/ --output another/\n\n"
      "Text that belongs\ntogether. Exit codes: 0 nothing found, 1 findings, 2 error.");
  return app.help();
}

TEST(HelpFormat, NoLineIsLongerThanTheWidth) {
  for (const size_t width : {60u, 80u, 120u}) {
    std::istringstream lines(Help(width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
  }
}

TEST(HelpFormat, AnExampleAndWhatItIsForStandInOneLineWhereThereIsRoom) {
  EXPECT_THAT(Help(100), HasSubstr("eroica command -o recording/                                  "
                                   "what that does\n"));
  EXPECT_THAT(Help(60), HasSubstr("  eroica command -o recording/\n      what that does\n"));
  EXPECT_THAT(Help(60), HasSubstr("--long-name-of-a-flag-indeed \\\n      --output a-folder/"));
}

TEST(HelpFormat, LinesOfTextAreJoinedAndOptionsStandBesideWhatTheyAreFor) {
  const std::string help = Help(120);
  EXPECT_THAT(help, HasSubstr("Text that belongs together. Exit codes"));
  EXPECT_THAT(help, HasSubstr("  -o,--output DIR           A folder, of which"));
  EXPECT_THAT(help, ::testing::Not(HasSubstr("Excludes")));
}

}  // namespace
}  // namespace eroica
