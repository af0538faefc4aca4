// What a person reads of gaps in the telemetry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/finding.h"
#include "schemas/ids.h"

namespace eroica {

struct GapOfRank {
  RankId rank;
  std::string host;
  double share = 0;   // of its steps that nothing was told of
  int64_t since = 0;  // window
};

struct GapStory {
  std::vector<GapOfRank> ranks;  // by rank, at least one
  double usual_share = 0;        // of the other ranks' steps
  double threshold = 0;
  double steps = 0;    // that the shares are of
  int64_t window = 0;  // the newest
};

// "3, 9 and 21 more".
std::string RankNumbers(const std::vector<RankId>& ranks);

// Fills evidence, severity, confidence and all sentences.
void Tell(const GapStory& story, Finding* finding);

}  // namespace eroica
