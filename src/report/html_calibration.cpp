// The page's part on how far a classifier's probabilities hold: reliability diagrams, and what it calls unknown.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

constexpr double kDiagramSide = 260, kDiagramMargin = 34;

double across(double share) {
  return kDiagramMargin + share * kDiagramSide;
}
double up(double share) {
  return 8 + (1 - share) * kDiagramSide;
}

/// A reliability diagram: a bar for each bin, as high as the share of right answers; the nearer to the diagonal the
/// better. Its strength tells how many images it stands for.
std::string diagram(const std::string& title, const record::CalibrationError& error) {
  std::int64_t most = 1;
  for (const record::ReliabilityBin& bin : error.bins) most = std::max(most, bin.images);
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {0} {0}\" style=\"max-width:360px\" role=\"img\" aria-label=\"Reliability diagram\" "
      "font-size=\"11\" fill=\"currentColor\">",
      kDiagramSide + 2 * kDiagramMargin);
  const double width = 1.0 / static_cast<double>(std::max<std::size_t>(error.bins.size(), 1));
  for (std::size_t i = 0; i < error.bins.size(); ++i) {
    const record::ReliabilityBin& bin = error.bins[i];
    if (bin.images == 0) continue;
    const double strength = 0.25 + 0.75 * static_cast<double>(bin.images) / static_cast<double>(most);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"var(--accent)\" "
        "fill-opacity=\"{:.2f}\"><title>{} images, {:.1f} % sure, {:.1f} % right</title></rect>",
        across(static_cast<double>(i) * width) + 1, up(bin.accuracy), width * kDiagramSide - 2,
        bin.accuracy * kDiagramSide, strength, bin.images, 100 * bin.confidence, 100 * bin.accuracy);
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"var(--bad)\"/>", across(bin.confidence),
                       up(bin.accuracy));
  }
  svg += fmt::format(
      "<path d=\"M{0:.1f} {1:.1f}L{2:.1f} {3:.1f}M{0:.1f} {3:.1f}V{1:.1f}H{2:.1f}\" fill=\"none\" "
      "stroke=\"currentColor\" stroke-opacity=\"0.5\"/>",
      across(0), up(0), across(1), up(1));
  for (const double tick : {0.0, 0.5, 1.0}) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.0f} %</text>", across(tick),
                       up(0) + 16, 100 * tick);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{:.0f}</text>", kDiagramMargin - 4,
                       up(tick) + 4, 100 * tick);
  }
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">how sure; upwards how often right</text></svg>",
      across(0.5), up(0) + 32);
  const std::string interval =
      error.interval ? fmt::format(" (95 %: {:.1f} to {:.1f})", 100 * error.interval->low, 100 * error.interval->high)
                     : "";
  return fmt::format("<div class=\"card\"><h3>{}: expected calibration error {}{}</h3>{}</div>", title,
                     percent_text(error.ece), interval, svg);
}

}  // namespace

std::string calibration_part(std::span<const Run> runs) {
  std::string html;
  for (std::size_t n = 0; n < runs.size(); ++n) {
    if (!runs[n].calibration) continue;
    const record::CalibrationRecord& found = *runs[n].calibration;
    html += fmt::format("<h3>{}{}</h3>", runs.size() > 1 ? swatch(n) : "", escape_html(runs[n].name));
    for (const std::string& sentence : record::calibration_sentences(found)) {
      html += "<p class=\"explain\">" + escape_html(sentence) + "</p>";
    }
    html += "<div class=\"grid\">" + diagram("As learnt", found.before) + diagram("Calibrated", found.after) + "</div>";
  }
  if (html.empty()) return "";
  return "<section><h2>How far its probabilities hold</h2><p class=\"explain\">Of the answers that are 80 % sure, 80 % "
         "should be right: bars that end at the diagonal. Strong bars stand for many images. The error is the mean "
         "distance from the diagonal over the images, in 15 bins.</p>" +
         html + "</section>";
}

}  // namespace evener::report
