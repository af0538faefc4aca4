#include "ops/cli/manual_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/cli/completion.h"
#include "ops/cli/flag_values.h"

namespace eroica {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Lives as long as the test: options refer to it.
class ManualPageTest : public ::testing::Test {
 protected:
  ManualPageTest() {
    app_.footer("Examples:\n  eroica list          what is there\n\nExit codes: 0 done, 2 error.");
    CLI::App* list = app_.add_subcommand("list", "List what is there");
    list->add_option("--severity", severity_, "That it's at least")
        ->type_name("LEVEL")
        ->check(OneOf({"minor", "major"}));
    list->add_option("--file", file_, "From it")->type_name("FILE");
    list->add_flag("--hidden", hidden_, "Not shown")->group("");
    list->add_option("job", job_, "Its job")->required();
    list->footer(
        "Examples:\n  eroica list .a\\b\n\nText of it. Exit codes: 0 listed, 2 error. More text.");
    app_.add_subcommand("secret", "Not shown")->group("");
    program_ = OutlineOf(app_);
  }

  CLI::App app_{"Finds it.", "eroica"};
  std::string severity_, file_, job_;
  bool hidden_ = false;
  CommandOutline program_;
};

TEST_F(ManualPageTest, TheOutlineHasWhatHelpShows) {
  ASSERT_THAT(program_.commands, SizeIs(1)) << "hidden ones are left out";
  const CommandOutline& list = program_.commands[0];
  EXPECT_EQ(list.path, "eroica list");
  EXPECT_THAT(list.examples, ElementsAre("eroica list .a\\b"));
  EXPECT_THAT(list.paragraphs, ElementsAre("Text of it. More text."));
  EXPECT_EQ(list.exit_codes, "0 listed, 2 error.");
  ASSERT_THAT(list.options, SizeIs(3)) << "help, severity, file";
  EXPECT_EQ(list.options[1].kind, ValueKind::kChoice);
  EXPECT_THAT(list.options[1].choices, ElementsAre("minor", "major"));
  EXPECT_EQ(list.options[2].kind, ValueKind::kFile);
  ASSERT_THAT(list.positionals, SizeIs(1));
  EXPECT_TRUE(list.positionals[0].is_required);
}

TEST_F(ManualPageTest, HasItsSectionsAndNothingOfRoffIsInItsText) {
  const std::string page = ManualPage(program_.commands[0], program_, "1.2.3");
  EXPECT_THAT(page, ::testing::StartsWith(
                        ".TH EROICA\\-LIST 1 \"\" \"eroica 1.2.3\" \"User commands\"\n.SH NAME\n"
                        "eroica\\-list \\- list what is there\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-severity\\fR \\fILEVEL\\fR\nThat it\\(aqs at least\n"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n0 listed, 2 error.\n"));
  EXPECT_THAT(page, HasSubstr("eroica list .a\\eb\n"));
  EXPECT_THAT(page, HasSubstr(".BR eroica (1)\n"));
  EXPECT_THAT(page, Not(HasSubstr("hidden")));
  const std::string whole = ManualPage(program_, program_, "1.2.3");
  EXPECT_THAT(whole, HasSubstr("what is there:\n.RS 4\n.nf\neroica list\n"));
  EXPECT_THAT(whole, HasSubstr(".SH ENVIRONMENT\n"));
  EXPECT_THAT(whole, HasSubstr(".BR eroica\\-list (1)\n"));
}

TEST_F(ManualPageTest, NoShellReadsTextAsItsOwn) {
  EXPECT_THAT(ZshCompletion(program_), HasSubstr("'--severity:That it'\\''s at least'"));
  EXPECT_THAT(FishCompletion(program_), HasSubstr("-d 'That it\\'s at least'"));
  for (const std::string& script :
       {BashCompletion(program_), ZshCompletion(program_), FishCompletion(program_)}) {
    EXPECT_THAT(script, HasSubstr("minor major"));
    EXPECT_THAT(script, Not(HasSubstr("hidden")));
    EXPECT_THAT(script, Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace eroica
