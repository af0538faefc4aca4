#include "stream_ops/pattern/octave_histograms.h"

namespace eroica {

uint32_t OctaveHistograms::TakePage() {
  if (counts_.size() <= used_pages_) counts_.resize(used_pages_ + 1);
  counts_[used_pages_].fill(0);
  return used_pages_++;
}

void OctaveHistograms::Read(uint32_t function, DurationHistogram* out) const {
  out->clear();
  const PageTable& pages = pages_of_[function];
  for (size_t octave = 0; octave < pages.size(); ++octave) {
    if (pages[octave] == kNoPage) continue;
    const Page& page = counts_[pages[octave]];
    for (size_t i = 0; i < page.size(); ++i) {
      if (page[i] != 0) out->AddBucket(static_cast<uint16_t>(octave * page.size() + i), page[i]);
    }
  }
}

}  // namespace eroica
