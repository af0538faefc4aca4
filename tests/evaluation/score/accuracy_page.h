// docs/ACCURACY.md: how right the diagnosis is, written by `eroica score --markdown`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/score/known_misses.h"
#include "tests/evaluation/score/score_tables.h"

namespace eroica {

struct AccuracyPage {
  std::string command;  // that made it
  std::string chart;    // the file of the charts, relative to the page; empty: none
  // Markdown of what was found in real jobs (tests/live, tests/evaluation/real); comes first
  std::vector<std::string> sections;
  std::span<const ScoredRun> runs;
  KnownMisses known;
};

// No times of day: the same runs give the same page.
std::string AccuracyMarkdown(const AccuracyPage& page);

}  // namespace eroica
