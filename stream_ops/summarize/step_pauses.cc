#include "stream_ops/summarize/step_pauses.h"

#include "schemas/check.h"
#include "stream_ops/summarize/rank_advance.h"

namespace eroica {

void NotePauses(Pause before, std::span<const Mark> marks, std::span<const StepSpan> spans,
                std::vector<StepRecord>* steps) {
  EROICA_CHECK(spans.size() == steps->size());
  Pause pause = before;
  auto mark = marks.begin();
  const auto pass = [&] { pause = PauseAfter(*mark++).value_or(pause); };
  for (size_t i = 0; i < spans.size(); ++i) {
    while (mark != marks.end() && mark->time_ns <= spans[i].begin_ns) pass();
    Pause& of_step = (*steps)[i].pause;
    of_step = pause;
    while (mark != marks.end() && mark->time_ns < spans[i].end_ns) {
      pass();
      if (of_step == Pause::kNone) of_step = pause;
    }
  }
}

}  // namespace eroica
