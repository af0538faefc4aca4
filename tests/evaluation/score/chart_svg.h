// Charts of lines as an SVG document: axes, ticks, labels, a legend, a point's count. Equal charts
// give equal text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace eroica {

struct ChartPoint {
  double x = 0;
  double y = 0;
  // that the point stands for: shown as its size, and when the pointer rests on it
  uint64_t count = 0;
};

struct ChartSeries {
  std::string name;
  std::vector<ChartPoint> points;  // by x; joined by lines
};

struct ChartTick {
  double value = 0;
  std::string label;
};

struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  bool logarithmic_x = false;
  // ascending; the first and the last are the ends of the axis. At least two. What lies outside is
  // drawn at the end
  std::vector<ChartTick> x_ticks;
  std::vector<ChartTick> y_ticks;  // likewise
  std::vector<ChartTick> notes;    // words above the axis, at x
  bool diagonal = false;           // a thin line from corner to corner
  std::vector<ChartSeries> series;
};

// One below the other.
std::string ChartSvg(std::span<const Chart> charts);

}  // namespace eroica
