// The page's part on what each layer took.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "report/format.h"
#include "report/html_parts.h"

namespace evener::report {
namespace {

using record::LayerRecord;

constexpr const char* kProfileTitles[] = {"layer",       "kind",    "forward",        "backward",
                                          "of the time", "GFLOP/s", "moves at least", "of the roof"};

double layer_seconds(const LayerRecord& layer) {
  return layer.forward_s.value_or(0) + layer.backward_s.value_or(0);
}

std::string milliseconds_text(const std::optional<double>& seconds) {
  return seconds ? number_text(1e3 * *seconds) + " ms" : "–";
}

/// A bar of a share beside its number.
std::string share_cell(const std::string& title, const std::optional<double>& share) {
  if (!share) return table_cell(title, "–");
  return fmt::format("<td class=\"number bar\" data-title=\"{}\" style=\"--share:{:.4f}\">{}</td>", title,
                     std::clamp(*share, 0.0, 1.0), percent_text(*share));
}

std::string name_text(const LayerRecord& layer) {
  std::string text = layer.name.empty() ? "(" + layer.what + ")" : layer.name;
  for (const std::string& other : layer.joined) text += " + " + other;
  return text;
}

std::string layer_row(const LayerRecord& layer, double all_s) {
  const double seconds = layer_seconds(layer);
  std::string speed = "–";
  if (layer.flops && *layer.flops > 0 && seconds > 0) {
    speed = number_text(static_cast<double>(*layer.flops) / seconds / 1e9);
  }
  return "<tr>" + table_cell(kProfileTitles[0], escape_html(name_text(layer)), false) +
         table_cell(kProfileTitles[1], layer.name.empty() ? "" : escape_html(layer.what), false) +
         table_cell(kProfileTitles[2], milliseconds_text(layer.forward_s)) +
         table_cell(kProfileTitles[3], milliseconds_text(layer.backward_s)) +
         share_cell(kProfileTitles[4], all_s > 0 ? std::optional(seconds / all_s) : std::nullopt) +
         table_cell(kProfileTitles[5], speed) +
         table_cell(
             kProfileTitles[6],
             layer.bytes ? bytes_text(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *layer.bytes))) : "–") +
         share_cell(kProfileTitles[7], layer.roofline) + "</tr>";
}

std::string profile_table(const std::vector<LayerRecord>& layers) {
  double all_s = 0;
  for (const LayerRecord& layer : layers) all_s += layer_seconds(layer);
  std::string html = "<div class=\"scroll\"><table class=\"figures\"><thead><tr>";
  for (const char* title : kProfileTitles) html += fmt::format("<th>{}</th>", title);
  html += "</tr></thead><tbody>";
  for (const LayerRecord& layer : layers) html += layer_row(layer, all_s);
  return html + "</tbody></table></div>";
}

}  // namespace

std::string profile_part(std::span<const Run> runs) {
  std::string html;
  for (const Run& run : runs) {
    if (run.record.layers.empty()) continue;
    html += "<details class=\"card\" open><summary>" + escape_html(run.name) + "</summary>" +
            profile_table(run.record.layers) + "</details>";
  }
  if (html.empty()) return "";
  return "<section><h2>Time of each layer</h2><p>Layers were timed one by one in a pass of their own, after the run: "
         "all together take longer than in the run, where they overlap. The roof is the time in which the processor "
         "could do a layer's operations at its peak of multiply-adds, or read what the layer moves from memory, "
         "whichever "
         "is longer; a layer whose data stay in a cache can exceed it.</p>" +
         html + "</section>";
}

}  // namespace evener::report
