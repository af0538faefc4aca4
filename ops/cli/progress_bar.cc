#include "ops/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "ops/cli/terminal.h"

namespace eroica {

ProgressBar::ProgressBar(std::ostream* out, std::string label, TimePoint start)
    : out_(out), label_(std::move(label)), start_(start) {}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Update(uint64_t done, uint64_t total, TimePoint now) {
  if (out_ == nullptr || now - start_ < kSilence || (drawn_at_ && now - *drawn_at_ < kRedraw))
    return;
  const std::string line = Line(done, total, now - start_);
  // Blanks wipe what a longer line before has left.
  *out_ << '\r' << line
        << std::string(drawn_width_ > line.size() ? drawn_width_ - line.size() : 0, ' ')
        << std::flush;
  drawn_at_ = now;
  drawn_width_ = line.size();
}

void ProgressBar::Clear() {
  if (drawn_width_ == 0) return;
  *out_ << '\r' << std::string(drawn_width_, ' ') << '\r' << std::flush;
  drawn_width_ = 0;
}

std::string ProgressBar::Line(uint64_t done, uint64_t total,
                              std::chrono::duration<double> elapsed) const {
  constexpr int kWidth = 30;
  const double seconds = elapsed.count();
  if (total == 0) return fmt::format("{} {:.0f} s", label_, seconds);
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const int filled = static_cast<int>(share * kWidth);
  std::string line = fmt::format("{} [{:#<{}}{:.<{}}] {:3.0f} %", label_, "", filled, "",
                                 kWidth - filled, share * 100);
  if (share > 0) line += fmt::format("  {:.0f} s left", seconds / share - seconds);
  return line;
}

std::ostream* ProgressStream() {
  return isatty(STDERR_FILENO) == 1 && !IsQuiet() ? &std::cerr : nullptr;
}

}  // namespace eroica
