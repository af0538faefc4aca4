// The score as tables for people: rows of cells, which the terminal aligns and Markdown takes as
// they are.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/score/known_misses.h"
#include "tests/evaluation/score/score.h"

namespace eroica {

struct TextTable {
  std::string title;
  std::string note;                            // what a reader must know to read it; may be empty
  std::vector<std::vector<std::string>> rows;  // the first holds the names of the columns
};

// Nothing to show: no table. One table holds all methods, or one method where there are too many
// columns for more.
std::vector<TextTable> ScoreTables(std::span<const MethodScore> scores);
// What is asked of a method, and what it reached. prompt: the faults of 3 % and more that are asked
// to be told within two windows.
TextTable Targets(const MethodScore& score, const FaultCounts& prompt);
// What was not right, of one method: by scenario and seed, with what was said instead, and the
// reason where it is known.
TextTable Misses(std::span<const ScoredRun> runs, const std::string& method,
                 const KnownMisses& known);
// What one method told rightly, but after more than two windows, of faults that cost 3 % and more;
// the latest first, with the reason where it is known.
TextTable ToldLate(std::span<const ScoredRun> runs, const std::string& method,
                   const KnownMisses& known);
// By how much each scenario's faults lengthen a step.
TextTable Effects(std::span<const ScoredRun> runs);

std::string AsMarkdown(std::span<const TextTable> tables);

}  // namespace eroica
