// The page's part with some of the images that a network answered.
#include <fmt/format.h>

#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

constexpr const char* kMapsExplained =
    "<p>Below each picture, in orange, is what spoke for the class that was found: the network's last map of the "
    "picture, weighted as for that class (a class activation map, coarse by nature).</p>";

std::string figure_of(const AnsweredImage& answer) {
  const bool is_wrong = !answer.truth.empty() && answer.truth != answer.found;
  const std::string score =
      answer.is_probability ? fmt::format("{:.0f} %", 100 * answer.score) : fmt::format("{:.4g}", answer.score);
  std::string caption = fmt::format("<b>{}</b> {}", escape_html(answer.found), score);
  if (is_wrong) caption += "<br>is " + escape_html(answer.truth);
  std::string map;
  if (!answer.map_base64.empty()) {
    map = fmt::format("<img src=\"data:image/png;base64,{}\" alt=\"where it looked\">", answer.map_base64);
  }
  return fmt::format(
      "<figure class=\"answer{}\" title=\"{}\"><img src=\"data:image/png;base64,{}\" alt=\"{}\">{}"
      "<figcaption>{}</figcaption></figure>",
      is_wrong ? " wrong" : "", escape_html(answer.file), answer.png_base64, escape_html(answer.file), map, caption);
}

enum class Sort { kOneInSoMany, kSureMistake, kSureRight };

Sort sort_of(const AnsweredImage& answer) {
  if (answer.is_sure_mistake) return Sort::kSureMistake;
  return answer.is_sure_right ? Sort::kSureRight : Sort::kOneInSoMany;
}

/// Those of one sort, under a heading; "" where there are none.
std::string gallery(const std::string& heading, const std::string& explanation, const Run& run, Sort sort) {
  std::string figures;
  bool has_maps = false;
  for (const AnsweredImage& answer : run.answers) {
    if (sort_of(answer) != sort) continue;
    figures += figure_of(answer);
    has_maps = has_maps || !answer.map_base64.empty();
  }
  if (figures.empty()) return "";
  return "<h2>" + heading + "</h2>" + explanation + (has_maps ? kMapsExplained : "") + "<div class=\"card answers\">" +
         figures + "</div>";
}

}  // namespace

std::string answers_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    const std::string name = escape_html(run.record.model.name);
    html += gallery("The surest mistakes of " + name,
                    "<p>What it was wrong about, the surest answers first. Some may be labelled wrongly.</p>", run,
                    Sort::kSureMistake);
    html += gallery("What " + name + " was right about, and surest of", "", run, Sort::kSureRight);
    html += gallery("What " + name + " says of " + escape_html(run.record.data.location), "", run, Sort::kOneInSoMany);
  }
  return html.empty() ? "" : "<section>" + html + "</section>";
}

}  // namespace evener::report
