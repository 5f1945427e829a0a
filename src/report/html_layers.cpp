// The page's part on quantised networks: how far each layer is from the float one.
#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

/// The ratio whose bar is full: what 8 bits give at best is some 50 dB.
constexpr double kFullBar_db = 50;

std::string noise_cell(const LayerNoise& layer) {
  if (!layer.sqnr_db) return table_cell("SQNR", "no noise");
  return fmt::format("<td class=\"number bar\" data-title=\"SQNR\" style=\"--share:{:.4f}\">{:.1f} dB</td>",
                     std::clamp(*layer.sqnr_db / kFullBar_db, 0.0, 1.0), *layer.sqnr_db);
}

std::string table_of(const Run& run) {
  std::string html =
      "<table class=\"figures\"><thead><tr><th>layer</th><th>computed in</th><th>SQNR</th></tr></thead><tbody>";
  for (const LayerNoise& layer : run.layers) {
    html += "<tr>" + table_cell("layer", escape_html(layer.layer), false) +
            table_cell("computed in", layer.quantized ? "int8" : "float", false) + noise_cell(layer) + "</tr>";
  }
  return html + "</tbody></table>";
}

}  // namespace

std::string layers_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.layers.empty()) continue;
    html += "<h3>" + escape_html(run.name) + "</h3>" + table_of(run);
  }
  if (html.empty()) return "";
  return "<section><h2>Layers</h2><p>How far each layer's results are from those in float, with all that came before "
         "them: signal to quantisation noise, where more is better.</p>" +
         html + "</section>";
}

}  // namespace evener::report
