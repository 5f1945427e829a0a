// The page's part with some of the images that a network answered.
#include <fmt/format.h>

#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

std::string figure_of(const AnsweredImage& answer) {
  const bool is_wrong = !answer.truth.empty() && answer.truth != answer.found;
  const std::string score =
      answer.is_probability ? fmt::format("{:.0f} %", 100 * answer.score) : fmt::format("{:.4g}", answer.score);
  std::string caption = fmt::format("<b>{}</b> {}", escape_html(answer.found), score);
  if (is_wrong) caption += "<br>is " + escape_html(answer.truth);
  return fmt::format(
      "<figure class=\"answer{}\" title=\"{}\"><img src=\"data:image/png;base64,{}\" alt=\"{}\">"
      "<figcaption>{}</figcaption></figure>",
      is_wrong ? " wrong" : "", escape_html(answer.file), answer.png_base64, escape_html(answer.file), caption);
}

}  // namespace

std::string answers_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.answers.empty()) continue;
    html += fmt::format("<h2>What {} says of {}</h2><div class=\"card answers\">", escape_html(run.record.model.name),
                        escape_html(run.record.data.location));
    for (const AnsweredImage& answer : run.answers) html += figure_of(answer);
    html += "</div>";
  }
  return html.empty() ? "" : "<section>" + html + "</section>";
}

}  // namespace evener::report
