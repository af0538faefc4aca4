#include "schemas/pause.h"

namespace eroica {

std::string_view ToString(Pause pause) {
  switch (pause) {
    case Pause::kNone: return "none";
    case Pause::kCheckpoint: return "checkpoint";
    case Pause::kEvaluation: return "evaluation";
  }
  return "unknown";
}

}  // namespace eroica
