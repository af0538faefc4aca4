// Runs of real jobs as tables for people: on the terminal, and as a section of docs/ACCURACY.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/evaluation/real/real_run.h"
#include "tests/evaluation/score/score_tables.h"

namespace eroica {

// A row for each job and length of windows, a column for each kind of recording, a word a cell: how
// the run ended. Of several choices of ranks all where they ended the same, else the worst of them
// and how many there are of it: "wrong 2/7".
TextTable RealTable(std::span<const RealRun> runs);
// How many runs ended how, by kind of recording and by length of windows.
std::vector<TextTable> RealTotals(std::span<const RealRun> runs);
// What was wrongly said, by kind: in how many runs, and the sentence that most of them share, the
// first of several.
TextTable WrongStatements(std::span<const RealRun> runs);

// All of them below one heading. command: what made it.
std::string RealMarkdown(std::span<const RealRun> runs, const std::string& command);

}  // namespace eroica
