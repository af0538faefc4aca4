// A finding as people read it on a terminal: the sentence, then who, what, whom it cost how much,
// the numbers behind it, and what to do next.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schemas/finding.h"

namespace eroica {

struct FindingTextOptions {
  size_t width = 110;       // columns; words longer than that stay whole
  size_t victims_max = 12;  // listed, those who lost most; the rest is summed up
};

// Several lines, each with its end.
std::string FindingText(const Finding& finding, const FindingTextOptions& options = {});
// A number of a finding's evidence, in its unit: "82.2 ms".
std::string MeasureText(double value, std::string_view unit);
// For a list of all that is known: one line of severity, kind, id's begin and title.
std::string FindingLine(const Finding& finding);

}  // namespace eroica
