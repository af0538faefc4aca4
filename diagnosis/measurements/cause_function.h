// What a slow rank ran instead: the frame or kernel that the rank spends more time in than its
// peers, and that its peers do not spend it in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/measurements/cross_rank_view.h"

namespace eroica {

struct CauseOptions {
  // Of the excess that is to be explained: what the named frame must hold at least. Half: it is
  // then more than everything else together.
  double min_coverage = 0.5;
  // For a frame that no peer runs: the rest of the excess has no better explanation.
  double min_coverage_alone = 0.4;
  // A frame that covers nearly as much as the best one, or nearly all and most of what the best one
  // does, but lies deeper in the stack, is the better name.
  double coverage_slack = 0.1;
  double specificity_slack = 0.05;
  uint32_t max_peers = 100;        // compared with, evenly spread over the role
  bool peers_of_any_role = false;  // where the rank is the only one of its own
  // to the source frame that calls it: what comes in single steps strikes below whatever frame runs
  bool prefer_builtin = false;
};

// Inclusive critical time of one frame (a Python frame with all that it calls; a kernel or operator
// alone) on a rank and on its peers.
struct CauseFunction {
  std::string name;   // the frame
  std::string stack;  // its callers in the heaviest stack that holds it
  // what it spends most of that time in; empty where it is the leaf itself
  std::string hottest_leaf;
  FunctionClass function_class = FunctionClass::kCpuOp;
  FunctionId leaf;      // identity of the heaviest function that holds the frame
  double own_ns = 0;    // a step
  double peers_ns = 0;  // median over the peers, a step
  // of a wait for the interpreter's lock: what its holder makes the rank wait longer for a
  // processor, a step
  double processor_wait_ns = 0;
  double coverage = 0;     // (own - peers + processor wait) / excess to be explained
  double specificity = 0;  // (own - peers) / own: 1 where the peers do not run it at all

  double excess_ns() const { return own_ns - peers_ns; }
};

// The best name for `excess_ns` (a step) of the rank; nothing where no single frame or kernel
// explains enough of it. Functions that wait for peers and collectives are symptoms and never
// named. Built-in functions are named by the source frame that calls them, unless three ranks or
// more spend their time in one and call it from different places.
std::optional<CauseFunction> FindCauseFunction(const CrossRankView& view, RankIndex rank,
                                               double excess_ns, const CauseOptions& options);

// The frame that holds most of the excess, at least `least_coverage` of it, where no single frame
// explains enough: named beside "every python function".
std::optional<CauseFunction> FindLargestPart(const CrossRankView& view, RankIndex rank,
                                             double excess_ns, double least_coverage,
                                             const CauseOptions& options);

// What runs in at most `most_steps` of the window's steps, and there for what makes them slow:
// `excess_ns` is mean over all steps. Ranks that take turns run it about equally often, so peers
// are not asked.
std::optional<CauseFunction> FindOccasionalFunction(const CrossRankView& view, RankIndex rank,
                                                    double excess_ns, uint32_t most_steps,
                                                    const CauseOptions& options);

// By how much the frame or kernel is longer in which the rank differs most from its peers, a step;
// 0 where none is longer.
double LargestExcessOverPeers(const CrossRankView& view, RankIndex rank,
                              const CauseOptions& options);

// The same question a class at a time: a device or host that is slower in everything. Own and
// peers' critical time a step of the class whose excess is the largest; nothing where it covers
// less than min_coverage.
std::optional<CauseFunction> FindCauseClass(const CrossRankView& view, RankIndex rank,
                                            double excess_ns, const CauseOptions& options);

}  // namespace eroica
