// One line on a terminal that says how far a long work is: nothing for work of less than a second,
// and nothing where no person looks on. Called from one thread; the caller brings the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

namespace eroica {

class ProgressBar {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kSilence{1000};
  static constexpr std::chrono::milliseconds kRedraw{100};

  // out must outlive the bar; nullptr: nobody looks on.
  ProgressBar(std::ostream* out, std::string label, TimePoint start);
  // Wipes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // total: of the same unit as done, 0 where it is unknown.
  void Update(uint64_t done, uint64_t total, TimePoint now);
  // Wipes the line, so that what is printed next begins on a clean one.
  void Clear();

 private:
  std::string Line(uint64_t done, uint64_t total, std::chrono::duration<double> elapsed) const;

  std::ostream* const out_;
  const std::string label_;
  const TimePoint start_;
  std::optional<TimePoint> drawn_at_;
  size_t drawn_width_ = 0;
};

// std::cerr where it is a terminal and nobody has said -q, else nullptr.
std::ostream* ProgressStream();

}  // namespace eroica
