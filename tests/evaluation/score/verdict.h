// Judges one run: what was said against what had to be said. Pure; knows no detector and no
// simulator.
//
// A finding belongs to an expected one where its culprits are the expected ones or some of them; or
// where it names nobody and is right in kind, or says no more than that steps take longer. What
// belongs to nothing is a false finding: it sends a person to the wrong machine. So is what was
// over before the fault first showed. Of several findings that belong to one expected finding the
// best counts, the others are repetitions.
//
// Where every measurement agrees with several causes, an expected finding has alternatives: a
// finding is judged by the one that it comes nearest to. An optional one need not come; what
// belongs to it is right in everything, or false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/finding.h"
#include "tests/evaluation/score/scenario.h"

namespace eroica {

// A finding that was opened in a run, in its latest version.
struct SaidFinding {
  Finding finding;
  int64_t opened_window = 0;  // in which it was said for the first time
};

// One finding that must come, and from when on.
struct Truth {
  ExpectedFinding expected;
  int64_t first_window = 0;  // in which the fault can show for the first time
  // in which it does, not before; nothing where that is not known
  std::optional<int64_t> shown_window;
  // by how much this fault alone lengthens a step; nothing where that is not known
  std::optional<double> effect;
};

// How near a finding comes to an expected one.
struct Agreement {
  // all culprits and nobody else; or the host, where that is enough; or the link; or nobody, where
  // nobody is to be blamed
  bool rank = false;
  bool function = false;  // one of the expected parts of names; always where any function will do
  bool kind = false;
  bool culprit() const { return rank && function; }
  bool all() const { return rank && function && kind; }
};

// What became of one expected finding.
struct TruthVerdict {
  int said = -1;  // the finding that it is judged by; -1: missed
  Agreement agreement;
  // until a finding with the right culprit was opened; 1: in the window in which the fault first
  // shows, or before; -1: never
  int64_t windows = -1;
  bool required = true;  // the expected finding is not optional
  bool found() const { return said >= 0; }
};

// What became of one finding that was said.
struct SaidVerdict {
  int truth = -1;        // the expected finding that it belongs to; -1: a false finding
  bool repeats = false;  // another finding stands for that one already
  Agreement agreement;   // with that expected finding
};

struct RunVerdict {
  std::vector<TruthVerdict> truths;  // as given
  std::vector<SaidVerdict> said;     // as given
  size_t false_findings() const;
  size_t repetitions() const;
  // Everything that had to be said was said rightly, and nothing false.
  bool right() const;
  // Nothing had to be said.
  bool quiet() const;
};

// ranks_per_host: a link between two hosts may be named by any two ranks of them; 0 where hosts are
// unknown.
RunVerdict Judge(std::span<const Truth> truths, std::span<const SaidFinding> said,
                 uint32_t ranks_per_host);

}  // namespace eroica
