// docs/reference/evidence.md has every measure that the code can emit, with its unit, and no other.
// The sources are read for that: a measure is written down as its name and its unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace eroica {
namespace {

using Measures = std::set<std::pair<std::string, std::string>>;  // name, unit

std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Sources of the product below diagnosis/ and of the stage that asks it.
std::vector<std::string> Sources() {
  std::vector<std::string> sources;
  for (const char* folder : {"diagnosis", "stream_ops/diagnose"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().string();
      const bool is_source = name.ends_with(".cc") || name.ends_with(".h");
      if (is_source && !name.ends_with("_test.cc")) sources.push_back(ReadFile(entry.path()));
    }
  }
  return sources;
}

std::vector<std::smatch> AllMatches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), {}};
}

Measures MeasuresOfTheCode() {
  const std::vector<std::string> sources = Sources();
  std::map<std::string, std::string> constants;
  const std::regex constant(R"re(std::string_view (k\w+) =\s*"(\w+)")re");
  for (const std::string& source : sources) {
    for (const std::smatch& match : AllMatches(source, constant))
      constants[match.str(1)] = match.str(2);
  }
  Measures measures;
  const std::string name =
      R"re((?:"(\w+)"|std::string\((k\w+)\)|fmt::format\("(\w+)\{\}",[^"]*?\)))re";
  const std::regex measure(R"re(\{\s*(?:\.name = )?)re" + name +
                           R"re(,\s*(?:\.unit = )?"(ns|ratio|count|probability|GB/s|bytes)",)re");
  for (const std::string& source : sources) {
    for (const std::smatch& match : AllMatches(source, measure)) {
      const std::string named = match[1].matched   ? match.str(1)
                                : match[2].matched ? constants[match.str(2)]
                                                   : match.str(3) + "N";
      measures.emplace(named, match.str(4));
    }
  }
  return measures;
}

Measures MeasuresOfThePage() {
  Measures measures;
  const std::string page = ReadFile("docs/reference/evidence.md");
  const std::regex row(R"re(\n\| `(\w+)` \| ([\w/]+) \| [^|\n]{10,} \|)re");
  for (const std::smatch& match : AllMatches(page, row))
    measures.emplace(match.str(1), match.str(2));
  return measures;
}

TEST(EvidencePage, HasEveryMeasureOfTheCodeAndNoOther) {
  const Measures code = MeasuresOfTheCode();
  EXPECT_GT(code.size(), 60u) << "the sources are no longer understood";
  EXPECT_THAT(MeasuresOfThePage(), ::testing::ContainerEq(code));
}

}  // namespace
}  // namespace eroica
