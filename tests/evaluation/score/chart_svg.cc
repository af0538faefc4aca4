#include "tests/evaluation/score/chart_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "schemas/check.h"

namespace eroica {
namespace {

// In pixels.
constexpr double kWidth = 860;
constexpr double kHeight = 430;
constexpr double kLeft = 70;
constexpr double kLegendWidth = 210;  // the legend stands there
constexpr double kTop = 46;
constexpr double kBottom = 62;
constexpr double kLegendLine = 20;

// Okabe and Ito's colors, which the color-blind tell apart too.
constexpr std::array<std::string_view, 8> kColors = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#E69F00", "#56B4E9", "#000000", "#8C8C00"};

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string Text(double x, double y, std::string_view anchor, std::string_view text,
                 std::string_view style = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                     anchor, style, Escaped(text));
}

std::string Line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

// One chart, its upper left corner at (0, top).
class Drawing {
 public:
  Drawing(const Chart& chart, double top) : chart_(chart), top_(top) {
    EROICA_CHECK(chart.x_ticks.size() >= 2 && chart.y_ticks.size() >= 2);
    EROICA_CHECK(!chart.logarithmic_x || chart.x_ticks.front().value > 0);
  }

  std::string Draw() const {
    std::string svg = Text(kLeft, top_ + 24, "start", chart_.title, " class=\"title\"");
    svg += Axes();
    for (size_t i = 0; i < chart_.series.size(); ++i) svg += Series(i);
    return svg;
  }

 private:
  double X(double value) const {
    const double low = chart_.x_ticks.front().value;
    const double high = chart_.x_ticks.back().value;
    const double inside = std::clamp(value, low, high);
    const double share = chart_.logarithmic_x ? std::log(inside / low) / std::log(high / low)
                                              : (inside - low) / (high - low);
    return kLeft + share * (kWidth - kLeft - kLegendWidth);
  }
  double Y(double value) const {
    const double low = chart_.y_ticks.front().value;
    const double high = chart_.y_ticks.back().value;
    return top_ + kHeight - kBottom -
           (std::clamp(value, low, high) - low) / (high - low) * (kHeight - kTop - kBottom);
  }

  std::string Axes() const {
    const double left = X(chart_.x_ticks.front().value);
    const double right = X(chart_.x_ticks.back().value);
    const double bottom = Y(chart_.y_ticks.front().value);
    const double top = Y(chart_.y_ticks.back().value);
    std::string svg;
    for (const ChartTick& tick : chart_.y_ticks) {
      svg += Line(left, Y(tick.value), right, Y(tick.value), "class=\"grid\"") +
             Text(left - 8, Y(tick.value) + 4, "end", tick.label);
    }
    for (const ChartTick& tick : chart_.x_ticks) {
      svg += Line(X(tick.value), bottom, X(tick.value), bottom + 5, "class=\"axis\"") +
             Text(X(tick.value), bottom + 20, "middle", tick.label);
    }
    for (const ChartTick& note : chart_.notes)
      svg += Text(X(note.value), bottom - 6, "middle", note.label, " class=\"note\"");
    if (chart_.diagonal) svg += Line(left, bottom, right, top, "class=\"diagonal\"");
    svg += Line(left, bottom, right, bottom, "class=\"axis\"") +
           Line(left, bottom, left, top, "class=\"axis\"");
    svg += Text((left + right) / 2, bottom + 44, "middle", chart_.x_label);
    const double middle = (bottom + top) / 2;
    svg += Text(18, middle, "middle", chart_.y_label,
                fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle));
    return svg;
  }

  std::string Series(size_t index) const {
    const ChartSeries& series = chart_.series[index];
    const std::string_view color = kColors[index % kColors.size()];
    // Colors come round again: the second time dashed.
    const std::string_view dash = index < kColors.size() ? "" : " stroke-dasharray=\"6 4\"";
    std::string path;
    std::string points;
    for (const ChartPoint& point : series.points) {
      path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", X(point.x), Y(point.y));
      const double radius =
          std::clamp(2 + std::sqrt(static_cast<double>(point.count)) / 2, 3.0, 8.0);
      points += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"><title>{}: {:.3g} at "
          "{:.3g}, n = {}</title></circle>\n",
          X(point.x), Y(point.y), radius, color, Escaped(series.name), point.y, point.x,
          point.count);
    }
    std::string svg;
    if (series.points.size() > 1)
      svg += fmt::format(
          "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path,
          color, dash);
    const double y = top_ + kTop + kLegendLine * static_cast<double>(index);
    const double x = kWidth - kLegendWidth + 18;
    svg += points +
           Line(x, y, x + 22, y, fmt::format("stroke=\"{}\" stroke-width=\"2\"{}", color, dash)) +
           Text(x + 30, y + 4, "start", series.name);
    return svg;
  }

  const Chart& chart_;
  const double top_;
};

}  // namespace

std::string ChartSvg(std::span<const Chart> charts) {
  const double height = kHeight * static_cast<double>(charts.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\">\n",
      kWidth, height);
  svg +=
      "<style>\n"
      "text { font: 13px sans-serif; fill: #222 }\n"
      ".title { font: bold 16px sans-serif }\n"
      ".note { font-size: 11px; fill: #777 }\n"
      ".grid { stroke: #e4e4e4 }\n"
      ".axis { stroke: #444 }\n"
      ".diagonal { stroke: #999; stroke-dasharray: 3 3 }\n"
      "</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  for (size_t i = 0; i < charts.size(); ++i)
    svg += Drawing(charts[i], kHeight * static_cast<double>(i)).Draw();
  return svg + "</svg>\n";
}

}  // namespace eroica
