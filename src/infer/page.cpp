#include "infer/page.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "record/detection.h"
#include "report/format.h"

namespace evener::inference {
namespace {

using report::escape_html;

constexpr std::string_view kPredictionsStyle = R"css(
.predictions { display: flex; flex-wrap: wrap; gap: 14px; }
.prediction { margin: 0; width: 104px; font-size: .8rem; line-height: 1.3; overflow-wrap: anywhere; }
.prediction img { width: 104px; height: 104px; object-fit: contain; border-radius: 8px; background: var(--page); display: block; margin-bottom: 4px; }
.prediction.wrong figcaption { color: #c0392b; }
)css";

constexpr const char* kMapsExplained =
    "<p>Below each picture, in orange, is what spoke for the class that was found: the network's last map of the "
    "picture, weighted as for that class (a class activation map, coarse by nature).</p>";

std::string prediction_figure(const record::PredictedImage& prediction) {
  const bool is_wrong = !prediction.truth.empty() && prediction.truth != prediction.found;
  const std::string score = prediction.is_probability ? fmt::format("{:.0f} %", 100 * prediction.score)
                                                      : fmt::format("{:.4g}", prediction.score);
  std::string caption = fmt::format("<b>{}</b> {}", escape_html(prediction.found), score);
  if (prediction.is_unknown) caption = "<b>unknown</b>, nearest " + caption;
  if (is_wrong) caption += "<br>is " + escape_html(prediction.truth);
  std::string map;
  if (!prediction.map_base64.empty()) {
    map = fmt::format("<img src=\"data:image/png;base64,{}\" alt=\"where it looked\">", prediction.map_base64);
  }
  return fmt::format(
      "<figure class=\"prediction{}\" title=\"{}\"><img src=\"data:image/png;base64,{}\" "
      "alt=\"{}\">{}<figcaption>{}</figcaption></figure>",
      is_wrong ? " wrong" : "", escape_html(prediction.file), prediction.png_base64, escape_html(prediction.file), map,
      caption);
}

enum class Sort { kOneInSoMany, kSureMistake, kSureRight };

Sort sort_of(const record::PredictedImage& prediction) {
  if (prediction.is_sure_mistake) return Sort::kSureMistake;
  return prediction.is_sure_right ? Sort::kSureRight : Sort::kOneInSoMany;
}

/// The predictions of one sort, under a heading; "" without any.
std::string gallery(const std::string& heading, const std::string& explanation,
                    const std::vector<record::PredictedImage>& predictions, Sort sort) {
  std::string figures;
  bool has_maps = false;
  for (const record::PredictedImage& prediction : predictions) {
    if (sort_of(prediction) != sort) continue;
    figures += prediction_figure(prediction);
    has_maps = has_maps || !prediction.map_base64.empty();
  }
  if (figures.empty()) return "";
  return "<h2>" + heading + "</h2>" + explanation + (has_maps ? kMapsExplained : "") +
         "<div class=\"card predictions\">" + figures + "</div>";
}

}  // namespace

report::PagePart predictions_part(std::span<report::Run> runs) {
  std::string html;
  for (report::Run& run : runs) {
    const auto predictions = report::read_if_there(run, record::kPredictedImages, record::read_predicted_images);
    if (!predictions) continue;
    const std::string name = escape_html(run.record.model.name);
    html += gallery("The surest mistakes of " + name,
                    "<p>What it was wrong about, the surest predictions first. Some may be labelled wrongly.</p>",
                    *predictions, Sort::kSureMistake);
    html += gallery("What " + name + " was right about, and surest of", "", *predictions, Sort::kSureRight);
    html += gallery("What " + name + " says of " + escape_html(run.record.data.location), "", *predictions,
                    Sort::kOneInSoMany);
  }
  return {.html = html.empty() ? "" : "<section>" + html + "</section>", .style = kPredictionsStyle};
}

}  // namespace evener::inference
