// How much of what happened an answer speaks of.
#pragma once

#include "ops/rest/resources/answer.h"
#include "schemas/pattern_batch.h"

namespace eroica {

inline Json QualityJson(const Completeness& completeness) {
  return {{"events", completeness.events},
          {"late", completeness.late},
          {"lost", completeness.lost},
          {"sampled", completeness.sampled},
          {"outside", completeness.outside}};
}

}  // namespace eroica
