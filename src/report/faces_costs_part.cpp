#include "report/faces_costs_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::report {
namespace {

constexpr double kWidth = 520, kLeft = 76, kRight = 505, kTop = 12, kBottom = 190, kHeight = 240;
constexpr std::size_t kLeastToPlot = 4;  // with fewer chunks a table is shown

/// The distance between about four axis marks: 1, 2 or 5 times a power of ten.
double step_of_marks(double largest) {
  if (!(largest > 0)) return 1;
  const double step = largest / 4, power = std::pow(10, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= step) return factor * power;
  }
  return 10 * power;
}

/// A plot area with labelled axes that begin at 0.
class Plot {
 public:
  using Words = std::function<std::string(double)>;

  Plot(double largest_x, double largest_y, const std::string& label) : largest_x_(largest_x), largest_y_(largest_y) {
    svg_ =
        fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight, escape_html(label));
  }

  /// Draws axes, marks at round values and grid lines. Call it before drawing the data, which lies on top.
  void axes(const std::string& title_x, const Words& words_x, const Words& words_y) {
    const double step_y = step_of_marks(largest_y_);
    for (double y = step_y; y <= largest_y_; y += step_y) {
      line("grid", 0, y, largest_x_, y);
      mark_y(y, words_y(y));
    }
    mark_y(0, "0");
    const double step_x = step_of_marks(largest_x_);
    for (double x = 0; x <= largest_x_; x += step_x) mark_x(x, words_x(x));
    title(title_x);
    line("axis", 0, 0, largest_x_, 0);
    line("axis", 0, 0, 0, largest_y_);
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
    svg_ += fmt::format("<circle class=\"equal\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>", x_of(x), y_of(y));
  }
  void mark_x(double x, const std::string& text) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x_of(x), kBottom + 20, text);
  }
  void mark_y(double y, const std::string& text) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 8, y_of(y) + 5, text);
  }
  void title(const std::string& text) {
    svg_ += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", (kLeft + kRight) / 2, kBottom + 42,
                        escape_html(text));
  }
  std::string html() const { return svg_ + "</svg>"; }

 private:
  double x_of(double x) const { return kLeft + (kRight - kLeft) * x / largest_x_; }
  double y_of(double y) const { return kBottom - (kBottom - kTop) * y / largest_y_; }

  const double largest_x_, largest_y_;
  std::string svg_;
};

std::string plain_mark(double value) {
  return fmt::format("{:g}", value);
}

std::string card(const std::string& title, const std::string& plot, const std::string& words) {
  return fmt::format("<section class=\"card\"><h3>{}</h3>{}<p class=\"soft\">{}</p></section>\n", escape_html(title),
                     plot, escape_html(words));
}

double end_of(const std::vector<ChunkOnPage>& chunks) {
  double end_s = 0;
  for (const ChunkOnPage& chunk : chunks) end_s = std::max(end_s, chunk.begin_s + chunk.seconds);
  return end_s;
}

double rate_of(const ChunkOnPage& chunk) {
  return static_cast<double>(chunk.photos) / chunk.seconds;
}

/// A sentence on the CPU usage of the workers' threads.
double cpu_percent_of(const std::vector<ChunkOnPage>& chunks) {
  double cpu_percent = 0, seconds = 0;
  for (const ChunkOnPage& chunk : chunks) cpu_percent += chunk.cpu_percent * chunk.seconds, seconds += chunk.seconds;
  return seconds > 0 ? cpu_percent / seconds : 0;
}

/// A table for a few chunks, of which a plot would show too little.
std::string chunks_table(std::vector<ChunkOnPage> chunks) {
  std::ranges::sort(chunks, {}, [](const ChunkOnPage& chunk) { return std::pair(chunk.worker, chunk.begin_s); });
  HtmlTable table{
      .columns =
          {{"worker"}, {"photos"}, {"time"}, {"photos a second"}, {"its thread computed"}, {"memory at the end"}},
      .style = ""};
  for (const ChunkOnPage& chunk : chunks) {
    table.rows.push_back({{{std::to_string(chunk.worker + 1)},
                           {std::to_string(chunk.photos)},
                           {duration_text(chunk.seconds)},
                           {number_text(rate_of(chunk))},
                           {fmt::format("{:.0f} %", chunk.cpu_percent)},
                           {bytes_text(chunk.rss_bytes)}}});
  }
  return card("Each worker's photos", "<div class=\"wide\">" + table.html() + "</div>",
              "Memory is the whole program's. chunks.csv has the figures.");
}

std::string speed_card(const std::vector<ChunkOnPage>& chunks) {
  const double most = rate_of(std::ranges::max(chunks, {}, rate_of));
  if (!(most > 0)) return "";
  Plot plot(end_of(chunks), 1.1 * most, "Photos a second of each worker");
  plot.axes("seconds since the start", plain_mark, number_text);
  for (const ChunkOnPage& chunk : chunks) {
    plot.line("chunk", chunk.begin_s, rate_of(chunk), chunk.begin_s + chunk.seconds, rate_of(chunk),
              run_color(static_cast<std::size_t>(chunk.worker)));
  }
  return card("Photos a second of each worker", plot.html(),
              fmt::format("A bar for each chunk of photos, as long as it took; a colour for each worker. The workers' "
                          "threads were computing for {:.0f} % of the time. chunks.csv has the figures.",
                          cpu_percent_of(chunks)));
}

std::string memory_card(const std::vector<ChunkOnPage>& chunks) {
  std::vector<std::pair<double, double>> points;
  for (const ChunkOnPage& chunk : chunks) {
    points.emplace_back(chunk.begin_s + chunk.seconds, static_cast<double>(chunk.rss_bytes));
  }
  std::ranges::sort(points);
  const double most = std::ranges::max(points, {}, [](const auto& point) { return point.second; }).second;
  if (!(most > 0)) return "";
  Plot plot(end_of(chunks), 1.1 * most, "Memory");
  plot.axes("seconds since the start", plain_mark,
            [](double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); });
  plot.curve("curve", points);
  for (const auto& [seconds, bytes] : points) plot.dot(seconds, bytes);
  return card("Memory of the program", plot.html(), "At the end of each chunk of photos.");
}

}  // namespace

std::string faces_costs_part(const FacesPage& page) {
  std::vector<ChunkOnPage> chunks = page.chunks;
  std::erase_if(chunks, [](const ChunkOnPage& chunk) { return !(chunk.seconds > 0); });
  std::string html;
  const bool plots = chunks.size() >= kLeastToPlot;
  if (!chunks.empty()) html += plots ? speed_card(chunks) + memory_card(chunks) : chunks_table(chunks);
  return html.empty() ? "" : "<h2>What it cost</h2>\n<div class=\"costs\">\n" + html + "</div>\n";
}

}  // namespace evener::report
