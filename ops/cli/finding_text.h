// A finding as people read it on a terminal: the sentence, then who, what, whom it cost how much,
// the numbers behind it, and what to do next.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/cli/terminal.h"
#include "schemas/finding.h"

namespace eroica {

struct FindingTextOptions {
  size_t width = kWidthElsewhere;  // columns; words longer than that stay whole
  bool color = false;              // of the severity
  size_t victims_max = 12;         // listed, those who lost most; the rest is summed up
};

// Several lines, each with its end.
std::string FindingText(const Finding& finding, const FindingTextOptions& options = {});
// A number of a finding's evidence, in its unit: "82.2 ms".
std::string MeasureText(double value, std::string_view unit);
// The text in the colour of the severity, where it is to be coloured.
std::string Colored(std::string_view text, Severity severity, bool color);
// One line of severity, the id's begin, state, job and title.
std::string FindingLine(const Finding& finding, bool color = false);
// The same behind when it was last seen, where that is known.
std::string TimedFindingLine(const Finding& finding, bool color = false);

}  // namespace eroica
