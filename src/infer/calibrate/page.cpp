#include "infer/calibrate/page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "record/calibration.h"
#include "report/format.h"
#include "report/html_parts.h"
#include "report/html_table.h"

namespace evener::inference {
namespace {

using report::escape_html;

constexpr std::string_view kDiagrams =
#include "infer/calibrate/calibration.js.inc"
    ;

/// The error in words, with the place of its reliability diagram, which kDiagrams draws.
std::string diagram(const std::string& title, const record::CalibrationError& error, const std::string& id) {
  const std::string by_chance =
      error.ece_by_chance ? fmt::format(" (a perfect one: up to {:.1f})", 100 * *error.ece_by_chance) : "";
  return fmt::format(
      "<div class=\"card\"><h3>{}: expected calibration error {}{}</h3><div class=\"needs-plots\"><div class=\"plot\" "
      "id=\"plot-{}\" role=\"img\" aria-label=\"Reliability diagram\"></div></div></div>",
      title, report::percent_text(error.ece), by_chance, id);
}

}  // namespace

report::PagePart calibration_part(std::span<report::Run> runs) {
  std::string html;
  report::PagePart part{.is_detail = true, .name = "calibration", .script = kDiagrams};
  for (std::size_t n = 0; n < runs.size(); ++n) {
    const auto found = report::read_if_there(runs[n], record::kCalibrationFile, record::read_calibration_record);
    part.plots.emplace_back(found ? nlohmann::ordered_json::parse(record::calibration_text(*found)) : nullptr);
    if (!found) continue;
    html += fmt::format("<h3>{}{}</h3>", runs.size() > 1 ? report::swatch(n) : "", escape_html(runs[n].name));
    for (const std::string& sentence : record::calibration_sentences(*found)) {
      html += "<p class=\"explain\">" + escape_html(sentence) + "</p>";
    }
    html += "<div class=\"grid\">" + diagram("As learnt", found->before, fmt::format("before-{}", n)) +
            diagram("Calibrated", found->after, fmt::format("after-{}", n)) + "</div>";
  }
  part.html = report::section_html(
      "How far its probabilities hold",
      "Of the answers that are 80 % sure, 80 % should be right: bars that end at the diagonal. Strong bars stand for "
      "many images. The error is the mean distance from the diagonal over the images, in 15 bins. Upright lines: where "
      "95 % of perfectly calibrated networks have all of their bars end, of so many images.",
      html);
  return part;
}

}  // namespace evener::inference
