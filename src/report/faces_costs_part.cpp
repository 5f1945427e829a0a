#include "report/faces_costs_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

constexpr double kLeft = 110, kRight = 980, kTop = 14, kBottom = 200, kHeight = 240;

/// A place for data from 0 to some largest values, with axes that tell these.
class Plot {
 public:
  Plot(double largest_x, double largest_y, const std::string& label) : largest_x_(largest_x), largest_y_(largest_y) {
    svg_ = fmt::format("<svg viewBox=\"0 0 1000 {}\" role=\"img\" aria-label=\"{}\">", kHeight, escape_html(label));
    line("axis", 0, 0, largest_x, 0);
    line("axis", 0, 0, 0, largest_y);
  }

  void line(const char* style, double x1, double y1, double x2, double y2, const std::string& color = "") {
    svg_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"{}/>", style,
                        x_of(x1), y_of(y1), x_of(x2), y_of(y2), color.empty() ? "" : " style=\"stroke:" + color + "\"");
  }
  void curve(const char* style, const std::vector<std::pair<double, double>>& points) {
    svg_ += fmt::format("<polyline class=\"{}\" points=\"", style);
    for (const auto& [x, y] : points) svg_ += fmt::format("{:.1f},{:.1f} ", x_of(x), y_of(y));
    svg_ += "\"/>";
  }
  void dot(double x, double y) {
    svg_ += fmt::format("<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\"/>", x_of(x), y_of(y));
  }
  void mark_x(double x, const std::string& text, const char* anchor = "middle") {
    svg_ +=
        fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x_of(x), kBottom + 28, anchor, text);
  }
  void mark_y(double y, const std::string& text) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 10, y_of(y) + 6, text);
  }
  std::string html() const { return svg_ + "</svg>"; }

 private:
  double x_of(double x) const { return kLeft + (kRight - kLeft) * x / largest_x_; }
  double y_of(double y) const { return kBottom - (kBottom - kTop) * y / largest_y_; }

  const double largest_x_, largest_y_;
  std::string svg_;
};

std::string card(const std::string& plot, const std::string& words) {
  return fmt::format("<section class=\"card\">{}<p class=\"soft\">{}</p></section>\n", plot, escape_html(words));
}

double end_of(const std::vector<ChunkOnPage>& chunks) {
  double end_s = 0;
  for (const ChunkOnPage& chunk : chunks) end_s = std::max(end_s, chunk.begin_s + chunk.seconds);
  return end_s;
}

std::string speed_card(const std::vector<ChunkOnPage>& chunks) {
  const auto rate = [](const ChunkOnPage& chunk) { return static_cast<double>(chunk.photos) / chunk.seconds; };
  double most = 0, cpu_percent = 0, seconds = 0;
  for (const ChunkOnPage& chunk : chunks) {
    most = std::max(most, rate(chunk));
    cpu_percent += chunk.cpu_percent * chunk.seconds;
    seconds += chunk.seconds;
  }
  Plot plot(end_of(chunks), 1.1 * most, "Photos a second of each worker");
  for (const ChunkOnPage& chunk : chunks) {
    plot.line("chunk", chunk.begin_s, rate(chunk), chunk.begin_s + chunk.seconds, rate(chunk),
              run_color(static_cast<std::size_t>(chunk.worker)));
  }
  plot.mark_x(0, "0", "start");
  plot.mark_x(end_of(chunks), duration_text(end_of(chunks)), "end");
  plot.mark_y(most, number_text(most));
  return card(plot.html(),
              fmt::format("Photos a second over the time of the run: a bar for each chunk of photos, a colour for each "
                          "worker. A worker's own thread was computing for {:.0f} % of the time. chunks.csv has the "
                          "figures.",
                          seconds > 0 ? cpu_percent / seconds : 0));
}

std::string memory_card(const std::vector<ChunkOnPage>& chunks) {
  std::vector<std::pair<double, double>> points;
  for (const ChunkOnPage& chunk : chunks) {
    points.emplace_back(chunk.begin_s + chunk.seconds, static_cast<double>(chunk.rss_bytes));
  }
  std::ranges::sort(points);
  const double most = std::ranges::max(points, {}, [](const auto& point) { return point.second; }).second;
  Plot plot(end_of(chunks), 1.1 * most, "Memory");
  plot.curve("curve", points);
  plot.mark_x(0, "0", "start");
  plot.mark_x(end_of(chunks), duration_text(end_of(chunks)), "end");
  plot.mark_y(most, bytes_text(static_cast<std::uint64_t>(most)));
  return card(plot.html(), "Memory of the program at the end of each chunk.");
}

std::string scaling_card(const ScalingOnPage& scaling) {
  const int most = std::ranges::max(scaling.speedups, {}, &SpeedupOnPage::workers).workers;
  Plot plot(most, 1.05 * most, "Speedup by workers");
  std::vector<std::pair<double, double>> law;
  constexpr int kSteps = 60;
  for (int i = 0; i <= kSteps; ++i) {
    const double workers = 1 + (most - 1) * static_cast<double>(i) / kSteps;
    law.emplace_back(workers, 1 / (scaling.fit.serial_share + (1 - scaling.fit.serial_share) / workers));
  }
  plot.line("ideal", 0, 0, most, most);
  plot.curve("curve", law);
  for (const SpeedupOnPage& one : scaling.speedups) {
    plot.dot(one.workers, one.speedup);
    plot.mark_x(one.workers, std::to_string(one.workers));
    plot.mark_y(one.speedup, fmt::format("{:.2f}x", one.speedup));
  }
  return card(plot.html(), scaling.words +
                               " Dots: measured; line: Amdahl's law, fitted; dashed: as if nothing were done by one "
                               "worker alone. scaling.csv has the times.");
}

}  // namespace

std::string faces_costs_part(const FacesPage& page) {
  std::vector<ChunkOnPage> chunks = page.chunks;
  std::erase_if(chunks, [](const ChunkOnPage& chunk) { return !(chunk.seconds > 0); });
  std::string html;
  if (page.scaling) html += scaling_card(*page.scaling);
  if (!chunks.empty()) html += speed_card(chunks);
  if (chunks.size() > 2) html += memory_card(chunks);
  return html.empty() ? "" : "<h2>What it cost</h2>\n<div class=\"costs\">\n" + html + "</div>\n";
}

}  // namespace evener::report
